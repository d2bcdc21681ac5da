import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { type LevelUsage, type Store, type StoreChange, sumOfChanges } from '../storage/store.ts';
import type { TaskEstimate, ZoomEstimate } from './task-service.ts';

/** Tiles of a zoom whose mean size is that of the others. */
const ENOUGH_SAMPLES = 32;
/** A tile without a picture: at a zoom that has no samples all may be such. */
const BLANK_TILE_BYTES = 300;

interface Mean {
  readonly z: number;
  readonly bytes: number;
  readonly isSure: boolean;
}

/** The size of all tiles, and a range of what is added to the stored ones. Null: nothing is stored to go by. */
export async function expectedSizes(
  store: Store,
  sets: readonly TileSetKey[],
  zooms: readonly ZoomEstimate[],
): Promise<Pick<TaskEstimate, 'bytes' | 'addedBytes'>> {
  const own = await meansOf(store, sets, zooms);
  const means = own.length > 0 ? own : await meansElsewhere(store, sets);
  const sum = (of: (zoom: ZoomEstimate) => number) =>
    BigInt(Math.round(zooms.reduce((total, zoom) => total + of(zoom), 0)));
  if (means.length === 0) return { bytes: null, addedBytes: null };
  const nearest = (z: number) => means.reduce((a, b) => (Math.abs(b.z - z) < Math.abs(a.z - z) ? b : a));
  const sure = (z: number) => means.find((mean) => mean.z === z && mean.isSure)?.bytes;
  const [least, most] = [
    Math.min(BLANK_TILE_BYTES, ...means.map(({ bytes }) => bytes)),
    Math.max(...means.map(({ bytes }) => bytes)),
  ];
  const missing = ({ tiles, cachedTiles }: ZoomEstimate) => Math.max(0, Number(tiles - cachedTiles));
  return {
    bytes: sum(({ z, tiles }) => Number(tiles) * nearest(z).bytes),
    addedBytes: {
      least: sum((zoom) => missing(zoom) * (sure(zoom.z) ?? least)),
      most: sum((zoom) => missing(zoom) * (sure(zoom.z) ?? most)),
    },
  };
}

/** From the tiles of the request, or else from others of the same zoom. */
async function meansOf(
  store: Store,
  sets: readonly TileSetKey[],
  zooms: readonly ZoomEstimate[],
): Promise<readonly Mean[]> {
  const means: Mean[] = [];
  for (const { z, tiles, cachedTiles, cachedBytes } of zooms) {
    const here = { tiles: Number(cachedTiles), bytes: Number(cachedBytes) };
    const sample = here.tiles >= ENOUGH_SAMPLES ? here : await sampleOf(store, sets, z);
    if (sample.tiles === 0) continue;
    const isSure = sample.tiles >= ENOUGH_SAMPLES || BigInt(sample.tiles) >= tiles;
    means.push({ z, bytes: sample.bytes / sample.tiles, isSure });
  }
  return means;
}

async function sampleOf(store: Store, sets: readonly TileSetKey[], z: number): Promise<StoreChange> {
  return sumOfChanges((await levelsOf(store, sets)).filter((level) => level.z === z));
}

/** Of zooms that the request does not have. */
async function meansElsewhere(store: Store, sets: readonly TileSetKey[]): Promise<readonly Mean[]> {
  const levels = await levelsOf(store, sets);
  return levels.map(({ z, tiles, bytes }) => ({ z, bytes: bytes / tiles, isSure: false }));
}

async function levelsOf(store: Store, sets: readonly TileSetKey[]): Promise<readonly LevelUsage[]> {
  const ids = new Set(sets.map(tileSetId));
  return (await store.usage(sets[0]?.layer)).levels.filter(({ set }) => ids.has(tileSetId(set)));
}
