import { crc32 } from 'node:zlib';
import { isTilewardenError } from '../domain/errors.ts';
import { boundsOfTile } from '../domain/grid-set.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { type TileRect, tilesOfRect } from '../domain/tile-rect.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { createMapDrawer, type ReadTiles } from '../raster/draw-map.ts';
import { inTurn } from './map-composer.ts';
import { planMapAt } from './map-plan.ts';
import type { CachedTile, ResolvedTileSet } from './tile-pipeline.ts';

/** Count of lower zooms that are searched for cached tiles. */
const MAX_ZOOMS_UP = 4;
const STRETCHES_AT_ONCE = 2;
const MAX_WAITING = 500;

type FindCached = (tiles: ResolvedTileSet, tile: TileIndex) => Promise<CachedTile | null>;

/** Makes a stand-in for a tile from cached tiles of a lower zoom; null if none are cached, or tiles are not pictures. */
export function createTileStretcher(find: FindCached) {
  const draw = createMapDrawer();
  const places = new Semaphore(STRETCHES_AT_ONCE, { maxWaiting: MAX_WAITING });

  /** Null unless all are cached. In a grid set whose zooms do not nest, a tile may overlap several. */
  async function findAll(tiles: ResolvedTileSet, z: number, rect: TileRect) {
    const answers = await Promise.all(tilesOfRect(z, rect).map((tile) => find(tiles, tile)));
    const cached = answers.filter((answer) => answer !== null);
    return cached.length === answers.length ? cached : null;
  }

  async function stretchFrom(
    tiles: ResolvedTileSet,
    { z, x, y }: TileIndex,
    up: number,
    signal: AbortSignal,
  ) {
    const { gridSet } = tiles.subset;
    const size = { width: gridSet.tileWidth, height: gridSet.tileHeight };
    const plan = planMapAt(tiles.subset, { bounds: boundsOfTile(gridSet, z, x, y), ...size }, z - up);
    const rect = plan?.layer.rect;
    const cached = plan && rect && (await findAll(tiles, plan.z, rect));
    if (!plan || !rect || !cached) return null;
    const columns = rect.maxX - rect.minX + 1;
    const drawing = { layers: [plan.layer], ...size, format: tiles.format, background: null };
    const read: ReadTiles = async (_layer, wanted) =>
      wanted.flatMap(({ x, y }) => cached[(y - rect.minY) * columns + x - rect.minX]?.bytes ?? []);
    try {
      const { bytes } = await inTurn(places, signal, () => draw(drawing, read, signal));
      return standInOf(bytes, cached);
    } catch (error) {
      // An adopted tile may have another size.
      if (isTilewardenError(error, 'source-bad-answer')) return null;
      throw error;
    }
  }

  return async (tiles: ResolvedTileSet, tile: TileIndex, signal: AbortSignal): Promise<CachedTile | null> => {
    if (tiles.format.kind === 'opaque') return null;
    for (let up = 1; up <= Math.min(MAX_ZOOMS_UP, tile.z); up++) {
      const stretched = await stretchFrom(tiles, tile, up, signal);
      if (stretched) return stretched;
    }
    return null;
  };
}

function standInOf(bytes: Buffer, cached: readonly CachedTile[]): CachedTile {
  const stale = cached.some(({ outcome }) => outcome === 'STALE');
  return {
    bytes,
    createdAt: Math.max(...cached.map(({ createdAt }) => createdAt)),
    checksum: crc32(bytes),
    freshUntil: null,
    outcome: stale ? 'STALE' : 'MISS',
    standIn: true,
  };
}
