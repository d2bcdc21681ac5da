import Feature from 'ol/Feature.js';
import { fromExtent } from 'ol/geom/Polygon.js';
import VectorLayer from 'ol/layer/Vector.js';
import VectorSource from 'ol/source/Vector.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import { useMemo, useRef, useState } from 'react';
import { part } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useResource } from '../api/use-resource.ts';
import { countText, failureText, fill, labelled } from '../format.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { MapBox } from '../map/map-box.tsx';
import { type GridSetInfo, type LayerInfo, parameterWishes, tileSetFrom } from '../map/tile-set.ts';
import { Loaded } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';

type Failure = Task['errors'][number];

const WORDS = TEXTS.tasks;
const STYLE = new Style({
  fill: new Fill({ color: 'rgb(176 48 28 / 35%)' }),
  stroke: new Stroke({ color: '#b0301c', width: 2 }),
});

/** The failures of a task on the map, and beside it each reason once. */
export default function TaskFailures({ task }: { task: Task }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(task.layer)}`);
  return (
    <div className="grid">
      <div className="span-7">
        <Loaded resource={layer}>{(data) => <FailureMap task={task} layer={data} />}</Loaded>
      </div>
      <div className="span-5">
        <p className="small quiet">
          {fill(WORDS.latestFailures, {
            shown: countText(task.errors.length),
            all: countText(task.counters.failed),
          })}
        </p>
        <ul className="lines small">
          {[...byReason(task.errors)].map(([message, failures]) => (
            <li key={message} className="stack tight">
              <strong>{message}</strong>
              {failures[0]?.upstream?.address && <UpstreamLink address={failures[0].upstream.address} />}
              <span>
                {labelled(fill(WORDS.places, { count: failures.length }), '')}
                {failures.map((failure) => (
                  <a key={failedTile(failure)} className="mono" href={inspectAddress(task, failure)}>
                    {failedTile(failure)}{' '}
                  </a>
                ))}
              </span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function UpstreamLink({ address }: { address: string }) {
  return (
    <a className="small" href={address} target="_blank" rel="noopener noreferrer" title={address}>
      {WORDS.openUpstream}
    </a>
  );
}

function byReason(errors: readonly Failure[]): ReadonlyMap<string, readonly Failure[]> {
  const groups = new Map<string, Failure[]>();
  for (const failure of errors) {
    const reason = failureText(failure);
    const group = groups.get(reason) ?? [];
    if (!group.some((other) => failedTile(other) === failedTile(failure))) group.push(failure);
    groups.set(reason, group);
  }
  return groups;
}

function failedTile({ z, x, y }: Failure): string {
  return `${z}/${x}/${y}`;
}

function inspectAddress({ layer, gridSet, format, parameters }: Task, failure: Failure): string {
  return addressOf('inspect', layer, {
    gridSet,
    format,
    ...parameterWishes(parameters),
    tile: failedTile(failure),
  });
}

/** The failed metatiles on the layer's map; pointing at one shows the reason. */
function FailureMap({ task, layer }: { task: Task; layer: LayerInfo }) {
  const [reason, setReason] = useState<string | null>(null);
  const { gridSet, format, parameters } = task;
  const query = new URLSearchParams({ gridSet, format, ...parameterWishes(parameters) }).toString();
  const set = useMemo(() => tileSetFrom(layer, new URLSearchParams(query)), [layer, query]);
  const first = useRef(task);
  if (!set) return null;
  const mark = ({ map }: ConsoleMap) => {
    const features = first.current.errors.map((error) => {
      const bounds = boundsOf(set.gridSet, layer.metatile, error);
      return new Feature({
        geometry: fromExtent(bounds),
        reason: labelled(failedTile(error), failureText(error)),
      });
    });
    const source = new VectorSource({ features, wrapX: false });
    map.addLayer(new VectorLayer({ source, style: STYLE }));
    map.once('change:view', () => {
      const bounds = source.getExtent();
      if (bounds) map.getView().fit(bounds, { padding: [40, 40, 40, 40], nearest: true });
    });
    map.on('pointermove', ({ pixel }) => {
      const [found] = map.getFeaturesAtPixel(pixel, { hitTolerance: 4 });
      setReason((found?.get('reason') as string | undefined) ?? null);
    });
  };
  return (
    <MapBox set={set} label={WORDS.failureMap} onReady={mark}>
      {reason !== null && <div className="over">{reason}</div>}
    </MapBox>
  );
}

/** Bounds of the metatile of a tile. */
function boundsOf(
  { resolutions, tileSize, origins }: GridSetInfo,
  [columns, rows]: LayerInfo['metatile'],
  { z, x, y }: { readonly z: number; readonly x: number; readonly y: number },
): number[] {
  const [left, top] = origins[z] ?? [0, 0];
  const resolution = resolutions[z] ?? 1;
  const [width, height] = [tileSize[0] * resolution * columns, tileSize[1] * resolution * rows];
  const [column, row] = [Math.floor(x / columns), Math.floor(y / rows)];
  return [left + column * width, top - (row + 1) * height, left + (column + 1) * width, top - row * height];
}
