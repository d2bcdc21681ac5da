import './console.css';
import './landing.css';
import type Projection from 'ol/proj/Projection.js';
import { get as knownProjection, transform } from 'ol/proj.js';
import { memo, StrictMode, useCallback, useMemo, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { part } from './api/client.ts';
import { useResource } from './api/use-resource.ts';
import { fill } from './format.ts';
import type { ConsoleMap, TilePlace } from './map/console-map.ts';
import { MapBox } from './map/map-box.tsx';
import { extensionOf, type OfferedLayer, type TileSet, tileAddress, tileSetFrom } from './map/tile-set.ts';
import { Choice, Form, ProblemNotice } from './parts/basics.tsx';
import { type LayerFault, LayerField } from './parts/layer-field.tsx';
import { TileSetChoices } from './parts/tile-set-choices.tsx';
import { replaceHash, useHash } from './route.ts';
import type { Session } from './session.tsx';
import { TEXTS } from './texts.ts';

const WORDS = TEXTS.landing;
/** With more layers than this, a search field replaces the list. */
const MAX_LISTED = 50;
const MAP_OPTIONS = { wrapX: true, keepsPlace: true, maxTilesLoading: 16 };

/** The place of the pointer, or else the middle of the map. */
interface MapPoint {
  readonly tile: TilePlace & { readonly offered: boolean };
  readonly position: string;
}

/** The fields of a layer that the choice needs. */
type BriefLayer = Pick<OfferedLayer, 'name' | 'title' | 'formats'>;

export function startLanding(root: HTMLElement): void {
  createRoot(root).render(
    <StrictMode>
      <Landing />
    </StrictMode>,
  );
}

/** The public map. The part of the address after the `#` names the tile set, so that a user can bookmark it. */
function Landing() {
  const list = useResource<{ readonly layers: readonly BriefLayer[] }>('tiles.json?brief=true');
  const session = useResource<Session>('session.json');
  const wishes = useWishes();
  const layers = useMemo(() => list.data?.layers.filter(hasPictures) ?? [], [list.data]);
  const layerName = (layers.find(({ name }) => name === wishes.get('layer')) ?? layers[0])?.name ?? null;
  const details = useResource<{ readonly layers: readonly OfferedLayer[] }>(
    layerName === null ? null : `tiles.json?layer=${part(layerName)}`,
  );
  const set = useTileSet(details.data?.layers.find(({ name }) => name === layerName) ?? null, wishes);
  const [point, setPoint] = useState<MapPoint | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const show = useCallback((chosen: TileSet<OfferedLayer>) => {
    setFailed(null);
    replaceHash(`#${wishesOf(chosen)}`);
  }, []);
  const showLayer = useCallback((layer: string) => {
    setFailed(null);
    replaceHash(`#${new URLSearchParams({ layer })}`);
  }, []);
  const empty = list.data !== null && layerName === null ? WORDS.empty : null;
  const notice = empty ?? (failed && fill(TEXTS.layer.tileFailed, { address: failed }));
  return (
    <>
      <main>
        {set && (
          <MapBox
            set={set}
            label={WORDS.map}
            options={MAP_OPTIONS}
            events={{ onTileFailed: setFailed }}
            onReady={(map) => watchPointer(map, setPoint)}
          />
        )}
      </main>
      <Form className="choices" aria-label={WORDS.choices} onSubmit={() => undefined}>
        <h1>{TEXTS.product}</h1>
        {set && (
          <>
            <LayerChoice layers={layers} value={set.layer.name} onChange={showLayer} />
            <TileSetChoices key={set.layer.name} set={set} onChange={show} />
          </>
        )}
        <a className="enter" href="#/">
          {session.data?.caller ? WORDS.console : TEXTS.signIn}
        </a>
      </Form>
      <div className="notices" role="status">
        <ProblemNotice
          problem={list.problem ?? details.problem}
          retry={list.problem ? list.reload : details.reload}
        />
        {notice !== null && <p className="notice bad">{notice}</p>}
      </div>
      <footer>
        <span>
          {TEXTS.inspect.zoom} <output>{point?.tile.z ?? '–'}</output>
        </span>
        <span>
          {WORDS.position} <output>{point?.position ?? '–'}</output>
        </span>
        <span>
          {WORDS.tile} {set && point && <TileLink set={set} tile={point.tile} />}
        </span>
        {set && <a href={`layers/${encodeURIComponent(set.layer.name)}`}>{WORDS.use}</a>}
        <a href="docs/">{TEXTS.documentation}</a>
        <span className="attribution">{WORDS.attribution}</span>
      </footer>
    </>
  );
}

/** A list of a few layers, and a field to search among many. */
const LayerChoice = memo(function LayerChoice(props: {
  layers: readonly BriefLayer[];
  value: string;
  onChange: (name: string) => void;
}) {
  const { layers, ...field } = props;
  const [fault, setFault] = useState<LayerFault>(null);
  if (layers.length > MAX_LISTED)
    return <LayerField required layers={layers} fault={fault} onFault={setFault} {...field} />;
  const options = layers.map(({ name, title }) => [name, title || name] as const);
  return <Choice label={TEXTS.tasks.layer} options={options} {...field} />;
});

type TileLinkProps = Pick<MapPoint, 'tile'> & { set: TileSet<OfferedLayer> };

function TileLink({ set, tile: { z, x, y, offered } }: TileLinkProps) {
  if (!offered) return WORDS.noTile;
  const address = tileAddress(set, z, x, y);
  return (
    <a href={address} target="_blank" rel="noopener">
      {address}
    </a>
  );
}

/** The parameters of the map's last address; `#/` begins addresses of the console. */
function useWishes(): URLSearchParams {
  const hash = useHash();
  const last = useRef('');
  if (!hash.startsWith('#/')) last.current = hash.slice(1);
  const text = last.current;
  return useMemo(() => new URLSearchParams(text), [text]);
}

/** Whether the layer has image tiles; vector tiles are not shown. */
function hasPictures({ formats }: BriefLayer): boolean {
  return formats.some((format) => format.startsWith('image/'));
}

function withPicturesOnly(layer: OfferedLayer): OfferedLayer {
  const pictures = layer.formats.flatMap((format, place) => (format.startsWith('image/') ? [place] : []));
  const formats = pictures.map((place) => layer.formats[place] ?? '');
  return { ...layer, formats, extensions: pictures.map((place) => layer.extensions[place] ?? '') };
}

/** The previous layer stays while the next one loads. */
function useTileSet(layer: OfferedLayer | null, wishes: URLSearchParams): TileSet<OfferedLayer> | null {
  const last = useRef<TileSet<OfferedLayer> | null>(null);
  const set = useMemo(() => layer && tileSetFrom(withPicturesOnly(layer), wishes, ''), [layer, wishes]);
  if (set) last.current = set;
  return last.current;
}

function wishesOf(set: TileSet<OfferedLayer>): URLSearchParams {
  const { layer, gridSet, parameters } = set;
  return new URLSearchParams({
    layer: layer.name,
    gridSet: gridSet.name,
    format: extensionOf(set),
    ...parameters,
  });
}

function watchPointer(consoleMap: ConsoleMap, report: (point: MapPoint) => void): void {
  const { map } = consoleMap;
  let pointer: number[] | null = null;
  const update = () => {
    const at = pointer ?? map.getView().getCenter();
    const tile = at && consoleMap.tileAt(at);
    if (tile) report({ tile, position: positionOf(at, map.getView().getProjection()) });
  };
  map.on('pointermove', ({ coordinate }) => {
    pointer = coordinate;
    update();
  });
  map.on('moveend', update);
  map.getTargetElement().addEventListener('pointerleave', () => {
    pointer = null;
    update();
  });
}

/** In degrees if the projection is known, e.g. `59.913° N, 10.752° E`, otherwise in its units. */
function positionOf(at: number[], projection: Projection): string {
  if (!knownProjection(projection.getCode())) return at.map((value) => value.toFixed(1)).join(', ');
  const { north, south, east, west } = WORDS.directions;
  const [longitude = 0, latitude = 0] = transform(at, projection, 'EPSG:4326');
  const wrapped = longitude - Math.floor((longitude + 180) / 360) * 360;
  const northing = `${Math.abs(latitude).toFixed(3)}° ${latitude < 0 ? south : north}`;
  return `${northing}, ${Math.abs(wrapped).toFixed(3)}° ${wrapped < 0 ? west : east}`;
}
