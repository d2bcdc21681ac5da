import { useMemo } from 'react';
import { useApi, useResource } from '../api/use-resource.ts';
import { type GridSetInfo, type LayerInfo, type TileSet, tileSetFrom } from './tile-set.ts';

/** The built-in map is a layer of this name, unless a configuration replaces it. */
const NAME = 'world';

/** In the CRS of a grid set, to be drawn below a layer; null: there is none. */
export function useBaseMap({ srs }: GridSetInfo): TileSet | null {
  const listed = useApi('/api/v1/layers').data?.layers;
  const isThere = listed?.some(({ name, enabled }) => name === NAME && enabled) ?? false;
  const world = useResource<LayerInfo>(isThere ? `api/v1/layers/${NAME}` : null).data;
  return useMemo(() => {
    const gridSet = world?.gridSets.find((one) => one.srs === srs);
    if (world?.source.type !== 'world' || !gridSet) return null;
    return tileSetFrom(world, new URLSearchParams({ gridSet: gridSet.name }));
  }, [world, srs]);
}
