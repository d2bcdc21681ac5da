import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { type LedgerBlock, tilesOf } from './ledger-block.ts';

/** Bytes are what the tiles take on disk. */
export interface Amount {
  readonly bytes: number;
  readonly tiles: number;
}

export interface ZoomUsage extends Amount {
  readonly z: number;
}

export interface TileSetUsage extends Amount {
  readonly gridSet: string;
  readonly format: string;
  readonly parametersId: string | null;
  readonly zooms: readonly ZoomUsage[];
}

export interface LayerUsage extends Amount {
  readonly name: string;
  readonly tileSets: readonly TileSetUsage[];
}

export interface StoresUsage extends Amount {
  readonly layers: readonly LayerUsage[];
}

interface Sum {
  bytes: number;
  tiles: number;
}

interface TileSetSum extends Sum {
  readonly set: TileSetKey;
  readonly zooms: Map<number, Sum>;
}

/** Adds up blocks by layer, tile set and zoom. */
export function usageOfBlocks(blocks: Iterable<LedgerBlock>): StoresUsage {
  const sets = new Map<string, TileSetSum>();
  for (const block of blocks) {
    const sum = sumFor(sets, block.set);
    const zoom = sum.zooms.get(block.z) ?? { bytes: 0, tiles: 0 };
    sum.zooms.set(block.z, zoom);
    for (const each of [sum, zoom]) {
      each.bytes += block.diskBytes;
      each.tiles += tilesOf(block);
    }
  }
  const layers = layersOf([...sets.values()]);
  return { ...totalOf(layers), layers };
}

function sumFor(sets: Map<string, TileSetSum>, set: TileSetKey): TileSetSum {
  const id = tileSetId(set);
  const sum = sets.get(id) ?? { set, bytes: 0, tiles: 0, zooms: new Map() };
  sets.set(id, sum);
  return sum;
}

function layersOf(sets: readonly TileSetSum[]): LayerUsage[] {
  const byLayer = new Map<string, TileSetUsage[]>();
  for (const sum of sets) {
    const { layer } = sum.set;
    byLayer.set(layer, byLayer.get(layer) ?? []);
    byLayer.get(layer)?.push(tileSetUsage(sum));
  }
  const layers = Array.from(byLayer, ([name, tileSets]) => ({ name, ...totalOf(tileSets), tileSets }));
  return layers.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function tileSetUsage({ set, bytes, tiles, zooms }: TileSetSum): TileSetUsage {
  const { gridSet, format, parametersId } = set;
  const levels = [...zooms].sort(([a], [b]) => a - b).map(([z, sum]) => ({ z, ...sum }));
  return { gridSet, format, parametersId, bytes, tiles, zooms: levels };
}

function totalOf(amounts: readonly Amount[]): Amount {
  return {
    bytes: amounts.reduce((sum, { bytes }) => sum + bytes, 0),
    tiles: amounts.reduce((sum, { tiles }) => sum + tiles, 0),
  };
}
