import Feature from 'ol/Feature.js';
import { fromExtent } from 'ol/geom/Polygon.js';
import VectorLayer from 'ol/layer/Vector.js';
import VectorSource from 'ol/source/Vector.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import { useMemo, useRef, useState } from 'react';
import type { Task } from '../api/task-feed.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { MapBox } from '../map/map-box.tsx';
import { type GridSetInfo, type LayerInfo, tileSetFrom } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';

const STYLE = new Style({
  fill: new Fill({ color: 'rgb(176 48 28 / 35%)' }),
  stroke: new Stroke({ color: '#b0301c', width: 2 }),
});
const NO_EVENTS = {};

/** The metatiles that failed, on the layer's map; pointing at one tells why. */
export function FailureMap({ task, layer }: { readonly task: Task; readonly layer: LayerInfo }) {
  const [reason, setReason] = useState<string | null>(null);
  const { gridSet, format } = task;
  const set = useMemo(
    () => tileSetFrom(layer, new URLSearchParams({ gridSet, format })),
    [layer, gridSet, format],
  );
  const first = useRef(task);
  if (!set) return null;
  const mark = ({ map }: ConsoleMap) => {
    const features = first.current.errors.map((error) => {
      const bounds = boundsOf(set.gridSet, layer.metatile, error);
      return new Feature({
        geometry: fromExtent(bounds),
        reason: `${error.z}/${error.x}/${error.y}: ${error.message}`,
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
    <MapBox set={set} label={TEXTS.tasks.failureMap} events={NO_EVENTS} onReady={mark}>
      {reason !== null && <div className="over bottom">{reason}</div>}
    </MapBox>
  );
}

/** Of the metatile that a tile belongs to. */
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
