import { useEffect, useMemo, useRef } from 'react';
import { part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { type Area, AreaDrawing } from '../map/draw-area.ts';
import { MapBox, useBaseMap } from '../map/map-box.tsx';
import { type LayerInfo, tileSetFrom } from '../map/tile-set.ts';
import { Loaded } from '../parts/basics.tsx';

interface AreaMapProps {
  readonly layer: string;
  /** A tile set, by the parameters of page addresses. */
  readonly wishes?: Readonly<Record<string, string>>;
  readonly area: Area;
  /** Limit of the map's first zoom: it must not make tiles that the task does not, and a change may be a point. */
  readonly maxZoom: number;
  readonly label: string;
}

/** An area on the map of a layer. */
export default function AreaMap(props: AreaMapProps) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(props.layer)}`);
  return <Loaded resource={layer}>{(info) => <Shown {...props} info={info} />}</Loaded>;
}

function Shown({ info, wishes = {}, area, maxZoom, label }: AreaMapProps & { readonly info: LayerInfo }) {
  const query = new URLSearchParams(wishes).toString();
  const set = useMemo(() => tileSetFrom(info, new URLSearchParams(query)), [info, query]);
  const base = useBaseMap(set?.gridSet ?? null);
  const drawing = useRef<AreaDrawing>(null);
  useEffect(() => drawing.current?.show(area));
  if (!set) return null;
  const draw = (map: ConsoleMap) => {
    const first = new AreaDrawing(map, () => undefined);
    drawing.current = first;
    map.map.once('change:view', () => first.show(area, set.gridSet.resolutions[maxZoom] ?? 0));
  };
  return <MapBox set={set} base={base} label={label} onReady={draw} />;
}
