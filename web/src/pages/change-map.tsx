import { useEffect, useMemo, useRef } from 'react';
import { part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { type Area, AreaDrawing, boxesOf } from '../map/draw-area.ts';
import { MapBox } from '../map/map-box.tsx';
import { type LayerInfo, tileSetFrom } from '../map/tile-set.ts';
import { Loaded } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

type Boxes = readonly (readonly number[])[];

/** The map begins no closer: a change may be as small as a point. */
const MAX_ZOOM = 12;

/** Where data have changed, in degrees, on the map of a layer. */
export default function ChangeMap({ layer, boxes }: { layer: string; boxes: Boxes }) {
  const info = useResource<LayerInfo>(`api/v1/layers/${part(layer)}`);
  return <Loaded resource={info}>{(data) => <BoxMap layer={data} boxes={boxes} />}</Loaded>;
}

function BoxMap({ layer, boxes }: { layer: LayerInfo; boxes: Boxes }) {
  const set = useMemo(() => tileSetFrom(layer, new URLSearchParams()), [layer]);
  const drawing = useRef<AreaDrawing>(null);
  const area: Area = { kind: 'shape', shape: boxesOf(boxes), crs: 'EPSG:4326' };
  useEffect(() => drawing.current?.show(area));
  if (!set) return null;
  const draw = (map: ConsoleMap) => {
    const first = new AreaDrawing(map, () => undefined);
    drawing.current = first;
    map.map.once('change:view', () => first.show(area, set.gridSet.resolutions[MAX_ZOOM] ?? 0));
  };
  return <MapBox set={set} label={TEXTS.changes.map} onReady={draw} />;
}
