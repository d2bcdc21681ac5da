import { useEffect, useRef, useState } from 'react';
import { type ApiResponse, get, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { countText, fill, percentText } from '../format.ts';
import type { ConsoleMap, MapView, TilePlace } from '../map/console-map.ts';
import { MapBox, useBaseMap } from '../map/map-box.tsx';
import { type TileSet, tileSetQuery, withParameter } from '../map/tile-set.ts';
import { Bar, Button, Card, Choice, Loaded } from '../parts/basics.tsx';
import { Slider } from '../parts/ranges.tsx';
import { TileSetChoices } from '../parts/tile-set-choices.tsx';
import { TEXTS } from '../texts.ts';
import { TileDetails } from './tile-details.tsx';

type Zooms = ApiResponse<'GET /api/v1/layers/{layer}/coverage/{gridSet}'>;

type Times = ApiResponse<'GET /api/v1/layers/{layer}/times'>;

const WORDS = TEXTS.layer;
const REFRESH_SECONDS = 10;
const WAIT_MS = 150;
const SHOWN_TIMES = 200;
const TIMES_SECONDS = 30;
/** Milliseconds without a movement until the map follows. */
const REST_MS = 200;

/** The layer on a map, its cached tiles, and details of the clicked tile. */
export function LayerMap({ set, onChange }: { set: TileSet; onChange: (set: TileSet) => void }) {
  const [map, setMap] = useState<ConsoleMap | null>(null);
  const [view, setView] = useState<MapView | null>(null);
  const [overlay, setOverlay] = useState<keyof typeof WORDS.overlays>('state');
  const [fixedZoom, setFixedZoom] = useState<number | null>(null);
  const [place, setPlace] = useState<TilePlace | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const { zoomStart, zoomStop } = set.gridSet;
  const zoom = Math.min(zoomStop, Math.max(zoomStart, fixedZoom ?? (view?.zoom ?? 0) + 2));
  const base = `api/v1/layers/${part(set.layer.name)}/coverage/${part(set.gridSet.name)}`;
  const zooms = useResource<Zooms>(`${base}?${tileSetQuery(set)}`, REFRESH_SECONDS);
  const shown = useCoverage(
    map,
    overlay === 'off' ? null : view,
    `${base}/${zoom}?${tileSetQuery(set)}&shows=${overlay}`,
    zooms.data,
  );
  useOpening(map, set, base, zooms.data);
  const isEmpty = zooms.data?.zooms.every(({ tiles }) => tiles === 0) ?? false;
  const baseMap = useBaseMap(set.gridSet);
  useEffect(() => {
    if (map) map.inspectedZoom = shown ? zoom : null;
  }, [map, shown, zoom]);

  return (
    <>
      <Card title={WORDS.map} className="span-8">
        <div className="stack">
          <div className="form-grid">
            <TileSetChoices set={set} onChange={onChange} />
            <Choice label={WORDS.overlay} value={overlay} options={WORDS.overlays} onChange={setOverlay} />
          </div>
          {set.layer.times && <TimeSlider set={set} onChange={onChange} />}
          <MapBox
            set={set}
            base={isEmpty ? baseMap : null}
            label={WORDS.mapHelp}
            events={{ onView: setView, onTile: setPlace, onTileFailed: setFailed }}
            onReady={setMap}
          >
            <div className="over">{shown ? <Legend of={shown} zoom={zoom} /> : WORDS.clickHint}</div>
          </MapBox>
          {failed !== null && (
            <p className="notice warn small">{fill(WORDS.tileFailed, { address: failed })}</p>
          )}
          {place && <TileDetails key={`${place.z}/${place.x}/${place.y}`} set={set} place={place} />}
        </div>
      </Card>
      <Card title={WORDS.completeness} className="span-4">
        <p className="small quiet">{WORDS.completenessHelp}</p>
        <Loaded resource={zooms}>
          {(data) => (
            <div className="zooms">
              {zoomRows(data.zooms).map((zoom) => (
                <ZoomLine key={zoom.z} zoom={zoom} fixed={fixedZoom} onFix={setFixedZoom} />
              ))}
            </div>
          )}
        </Loaded>
      </Card>
    </>
  );
}

/** The map opens at the cached area if it is below this share of the extent, by zooms with more than this share of tiles. */
const SMALL_PART = 1 / 16;

/** Opens a layer where tiles are cached if its extent is much larger, e.g. because none is declared. */
function useOpening(map: ConsoleMap | null, set: TileSet, address: string, zooms: Zooms | null): void {
  const opened = useRef<ConsoleMap>(null);
  useEffect(() => {
    if (!map || !zooms || opened.current === map) return;
    opened.current = map;
    const all = zooms.zooms.reduce((total, { tiles }) => total + tiles, 0);
    const deepest = zooms.zooms.findLast(({ tiles }) => tiles > all * SMALL_PART)?.z;
    if (deepest === undefined) return;
    const { extent } = set.gridSet;
    const query = `${tileSetQuery(set)}&shows=share&bounds=${extent.join(',')}`;
    get<Coverage>(`${address}/${deepest}?${query}`).then(
      (coverage) => {
        const box = cachedBox(coverage);
        if (box && areaOf(box) < areaOf(extent) * SMALL_PART) map.open(box, deepest);
      },
      () => undefined,
    );
  }, [map, set, address, zooms]);
}

function areaOf([minX = 0, minY = 0, maxX = 0, maxY = 0]: readonly number[]): number {
  return (maxX - minX) * (maxY - minY);
}

/** The cells of a run-length encoded coverage. Rows count from the top. */
function* cellsOf({ columns, runs }: Coverage) {
  let place = 0;
  for (let run = 0; run < runs.length; run += 2) {
    const [value = 0, length = 0] = [runs[run], runs[run + 1]];
    for (const end = place + length; place < end; place++)
      yield { value, column: place % columns, row: Math.floor(place / columns) };
  }
}

/** The box around the cells with tiles; null if there are none. */
function cachedBox(coverage: Coverage): readonly number[] | null {
  const { bounds, columns, rows } = coverage;
  const cached = [...cellsOf(coverage)].filter(({ value }) => value > 0);
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = bounds ?? [];
  if (!bounds || cached.length === 0) return null;
  const [width, height] = [(maxX - minX) / columns, (maxY - minY) / rows];
  const [xs, ys] = [cached.map(({ column }) => column), cached.map(({ row }) => row)];
  return [
    minX + Math.min(...xs) * width,
    maxY - (Math.max(...ys) + 1) * height,
    minX + (Math.max(...xs) + 1) * width,
    maxY - Math.min(...ys) * height,
  ];
}

type ZoomRow = Zooms['zooms'][number] & { last: number };

/** The rows of the table of zooms. Consecutive zooms without tiles share a row. */
function zoomRows(zooms: Zooms['zooms']): readonly ZoomRow[] {
  const rows: ZoomRow[] = [];
  for (const zoom of zooms) {
    const before = rows.at(-1);
    if (before && before.tiles === 0 && zoom.tiles === 0) before.last = zoom.z;
    else rows.push({ ...zoom, last: zoom.z });
  }
  return rows;
}

function ZoomLine(props: { zoom: ZoomRow; fixed: number | null; onFix: (zoom: number | null) => void }) {
  const { z, last, tiles, offered } = props.zoom;
  if (tiles === 0) {
    return (
      <>
        <span className="small quiet">{z === last ? z : `${z}–${last}`}</span>
        <span className="small quiet">{WORDS.zoomsEmpty}</span>
        <span />
      </>
    );
  }
  const share = offered === 0 ? 0 : tiles / offered;
  const fixed = props.fixed === z;
  return (
    <>
      <Button kind="chip" aria-pressed={fixed} onClick={() => props.onFix(fixed ? null : z)}>
        {z}
      </Button>
      <Bar share={share} label={`${TEXTS.inspect.zoom} ${z}`} kind={share === 1 ? 'done' : ''} />
      <span className="small number">
        {percentText(share)} <span className="quiet">{countText(tiles)}</span>
      </span>
    </>
  );
}

/** A sample value for each text of the legend. */
const SAMPLES = { age: [1, 2, 3, 4, 5], share: [1, 50, 100], state: [3, 2, 1, 0] } as const;

function Legend({ of: { shows = 'state', exact }, zoom }: { of: Coverage; zoom: number }) {
  return (
    <span className="legend">
      <strong>
        {TEXTS.inspect.zoom} {zoom}
      </strong>
      {WORDS.legends[shows].map((text, place) => (
        <span key={text}>
          <span className="swatch" style={{ background: cellColour(shows, SAMPLES[shows][place] ?? 0) }} />
          {text}
        </span>
      ))}
      {exact === false && <span className="quiet">{WORDS.roughly}</span>}
    </span>
  );
}

/** Draws the cached tiles in the view over the map, shortly after a movement; again when `changed` is another value. */
function useCoverage(
  map: ConsoleMap | null,
  view: MapView | null,
  address: string,
  changed: unknown,
): Coverage | null {
  const [coverage, setCoverage] = useState<Coverage | null>(null);
  const drawn = useRef('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: what changed in the cache changes the picture
  useEffect(() => {
    if (!map) return;
    if (!view) {
      map.showPicture(null, []);
      setCoverage(null);
      drawn.current = '';
      return;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get<Coverage>(`${address}&bounds=${view.bounds.join(',')}`, stop.signal).then(
        (coverage) => {
          setCoverage(coverage);
          const content = JSON.stringify([address, coverage.bounds, coverage.runs]);
          if (content === drawn.current) return;
          drawn.current = content;
          map.showPicture(coveragePicture(coverage), coverage.bounds ?? []);
        },
        () => undefined,
      );
    }, WAIT_MS);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [map, view, address, changed]);
  return coverage;
}

type Coverage = ApiResponse<'GET /api/v1/layers/{layer}/coverage/{gridSet}/{z}'>;

type Colour = readonly [number, number, number];

/** Colours from older than a month to younger than an hour. */
const AGE_COLOURS: readonly Colour[] = [
  [192, 58, 43],
  [240, 138, 60],
  [242, 193, 78],
  [124, 191, 75],
  [26, 152, 80],
];
/** Colours of missing, stale, partly stale and fresh tiles. */
const STATE_COLOURS: readonly Colour[] = [
  [150, 150, 150],
  [240, 138, 60],
  [242, 193, 78],
  [26, 152, 80],
];
const FEW: Colour = [198, 219, 239];
const ALL: Colour = [8, 81, 156];
/** Side of the picture in pixels: large, because browsers blur pictures that they enlarge much. */
const MAX_PIXELS = 1024;

/** A picture of the cells as a data URL; null without cells. */
function coveragePicture(coverage: Coverage): string | null {
  const { columns, rows, shows = 'share' } = coverage;
  if (columns === 0 || rows === 0) return null;
  const scale = Math.max(1, Math.floor(MAX_PIXELS / Math.max(columns, rows)));
  const canvas = document.createElement('canvas');
  canvas.width = columns * scale;
  canvas.height = rows * scale;
  const context = canvas.getContext('2d');
  if (!context) return null;
  const side = scale >= 6 ? scale - 1 : scale;
  let last: number | null = null;
  for (const { value, column, row } of cellsOf(coverage)) {
    if (value === 0 && shows !== 'state') continue;
    // Parsing a colour costs more than drawing a cell.
    if (value !== last) context.fillStyle = cellColour(shows, value);
    last = value;
    context.fillRect(column * scale, row * scale, side, side);
  }
  return canvas.toDataURL();
}

/** E.g. `rgb(8 81 156)`; nearly transparent for missing tiles. */
function cellColour(shows: NonNullable<Coverage['shows']>, value: number): string {
  const mix = (few: number, place: number) => Math.round(few + (((ALL[place] ?? 0) - few) * value) / 100);
  if (shows === 'state')
    return `rgb(${(STATE_COLOURS[value] ?? ALL).join(' ')} / ${value === 0 ? '25%' : '100%'})`;
  const colour = shows === 'age' ? (AGE_COLOURS[value - 1] ?? ALL) : FEW.map(mix);
  return `rgb(${colour.join(' ')})`;
}

/** A slider over the latest times of a layer, if it has several. */
function TimeSlider(props: { set: TileSet; onChange: (set: TileSet) => void }) {
  const address = `api/v1/layers/${part(props.set.layer.name)}/times?count=${SHOWN_TIMES}`;
  const { data } = useResource<Times>(address, TIMES_SECONDS);
  return data && data.times.length > 1 ? <TimeChoice {...props} of={data} /> : null;
}

function TimeChoice(props: { set: TileSet; onChange: (set: TileSet) => void; of: Times }) {
  const { set, onChange, of } = props;
  const { parameter, times } = of;
  const usual = set.layer.parameters.find(({ name }) => name === parameter)?.default ?? '';
  const chosen = set.parameters[parameter] ?? usual;
  const [moved, setMoved] = useState<string | null>(null);
  const shown = moved ?? chosen;
  useEffect(() => {
    if (moved === null) return;
    const timer = setTimeout(() => {
      onChange(withParameter(set, parameter, moved));
      setMoved(null);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [moved, set, onChange, parameter]);
  const place = times.indexOf(shown);
  return (
    <Slider
      label={WORDS.time}
      shown={shown}
      max={times.length - 1}
      value={place < 0 ? times.length - 1 : place}
      onChange={(chosen) => setMoved(times[chosen] ?? null)}
    />
  );
}
