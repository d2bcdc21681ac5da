import 'ol/ol.css';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useApi, useResource } from '../api/use-resource.ts';
import { ConsoleMap, type ConsoleMapEvents, type MapOptions } from './console-map.ts';
import { type LayerInfo, type OfferedLayer, type TileSet, tileSetFrom } from './tile-set.ts';

/** `onReady` gets the map once. */
export function MapBox(props: {
  set: TileSet<OfferedLayer>;
  label: string;
  /** Drawn below it. */
  base?: TileSet<OfferedLayer> | null;
  options?: Partial<MapOptions>;
  events?: ConsoleMapEvents;
  onReady?: (map: ConsoleMap) => void;
  children?: ReactNode;
}) {
  const box = useRef<HTMLDivElement>(null);
  const events = useRef(props.events);
  const onReady = useRef(props.onReady);
  const options = useRef(props.options);
  const [map, setMap] = useState<ConsoleMap | null>(null);
  events.current = props.events;

  useEffect(() => {
    if (!box.current) return;
    const created = new ConsoleMap(
      box.current,
      {
        onView: (view) => events.current?.onView?.(view),
        onTile: (place) => events.current?.onTile?.(place),
        onTileFailed: (address) => events.current?.onTileFailed?.(address),
      },
      options.current,
    );
    setMap(created);
    onReady.current?.(created);
    return () => created.close();
  }, []);

  useEffect(() => map?.show(props.set), [map, props.set]);
  useEffect(() => map?.showBase(props.base ?? null), [map, props.base]);

  return (
    <div className="map-box">
      <div
        className="map"
        ref={box}
        role="application"
        aria-label={props.label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a map is moved by keys
        tabIndex={0}
        onKeyDown={({ key }) => {
          if (key === 'Enter') map?.pickMiddle();
        }}
      />
      {props.children}
    </div>
  );
}

/** The built-in map is a layer of this name, unless a configuration replaces it. */
const NAME = 'world';

/** In the CRS of a grid set, to be drawn below a layer; null: there is none. */
export function useBaseMap(above: TileSet['gridSet'] | null): TileSet | null {
  const listed = useApi('/api/v1/layers').data?.layers;
  const isThere = listed?.some(({ name, enabled }) => name === NAME && enabled) ?? false;
  const world = useResource<LayerInfo>(isThere ? `api/v1/layers/${NAME}` : null).data;
  return useMemo(() => {
    const gridSet = world?.gridSets.find((one) => one.srs === above?.srs);
    if (world?.source.type !== 'world' || !gridSet) return null;
    return tileSetFrom(world, new URLSearchParams({ gridSet: gridSet.name }));
  }, [world, above?.srs]);
}
