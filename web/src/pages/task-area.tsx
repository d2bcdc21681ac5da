import { useMemo, useRef } from 'react';
import { part } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useResource } from '../api/use-resource.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { type Area, AreaDrawing, coordinateTexts } from '../map/draw-area.ts';
import { MapBox } from '../map/map-box.tsx';
import { type LayerInfo, tileSetFrom } from '../map/tile-set.ts';
import { Loaded } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

/** Where a task works, on the layer's map. */
export default function TaskArea({ task }: { task: Task }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(task.layer)}`);
  return <Loaded resource={layer}>{(data) => <AreaMap task={task} layer={data} />}</Loaded>;
}

function AreaMap({ task, layer }: { task: Task; layer: LayerInfo }) {
  const { gridSet, format } = task;
  const set = useMemo(
    () => tileSetFrom(layer, new URLSearchParams({ gridSet, format })),
    [layer, gridSet, format],
  );
  const first = useRef(task);
  if (!set) return null;
  const draw = (map: ConsoleMap) => {
    const { area, bounds, zoomStop } = first.current;
    // Tiles that the task makes are shown, and no others are made for the map.
    const closest = set.gridSet.resolutions[zoomStop] ?? 0;
    const shown: Area = area
      ? { kind: 'shape', shape: area, crs: 'grid-set' }
      : { kind: 'bounds', typed: coordinateTexts(bounds) };
    const drawing = new AreaDrawing(map, () => undefined);
    map.map.once('change:view', () => drawing.show(shown, closest));
  };
  return <MapBox set={set} label={TEXTS.tasks.areaMap} onReady={draw} />;
}
