import Feature from 'ol/Feature.js';
import { fromExtent } from 'ol/geom/Polygon.js';
import VectorLayer from 'ol/layer/Vector.js';
import VectorSource from 'ol/source/Vector.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import { useMemo, useRef } from 'react';
import { part } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useResource } from '../api/use-resource.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { MapBox } from '../map/map-box.tsx';
import { type GridSetInfo, type LayerInfo, tileSetFrom } from '../map/tile-set.ts';
import { Loaded } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

const STYLE = new Style({
  fill: new Fill({ color: 'rgb(176 48 28 / 35%)' }),
  stroke: new Stroke({ color: '#b0301c', width: 2 }),
});
const NO_EVENTS = {};

/** The tiles that failed, on the layer's map. */
export default function FailureMap({ task }: { readonly task: Task }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(task.layer)}`);
  return <Loaded resource={layer}>{(data) => <Places task={task} layer={data} />}</Loaded>;
}

function Places({ task, layer }: { readonly task: Task; readonly layer: LayerInfo }) {
  const { gridSet, format } = task;
  const set = useMemo(
    () => tileSetFrom(layer, new URLSearchParams({ gridSet, format })),
    [layer, gridSet, format],
  );
  const first = useRef(task);
  if (!set) return null;
  const mark = (map: ConsoleMap) => {
    const places = first.current.errors.map((error) => boundsOf(set.gridSet, error));
    const features = places.map((bounds) => new Feature(fromExtent(bounds)));
    map.add(new VectorLayer({ source: new VectorSource({ features }), style: STYLE }));
  };
  return <MapBox set={set} label={TEXTS.tasks.failureMap} events={NO_EVENTS} onReady={mark} />;
}

function boundsOf(
  { resolutions, tileSize, origins }: GridSetInfo,
  { z, x, y }: { readonly z: number; readonly x: number; readonly y: number },
): number[] {
  const [left, top] = origins[z] ?? [0, 0];
  const resolution = resolutions[z] ?? 1;
  const [width, height] = [tileSize[0] * resolution, tileSize[1] * resolution];
  return [left + x * width, top - (y + 1) * height, left + (x + 1) * width, top - y * height];
}
