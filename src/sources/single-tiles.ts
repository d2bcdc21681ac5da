/** Common parts of sources that have ready-made tiles, one for each request. */
import { z } from 'zod';
import { TilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { isWebMercator } from '../domain/srs.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import type { SourceRequest } from './tile-source.ts';

export const SINGLE_TILES = { columns: 1, rows: 1 } as const;

/** For servers that report a missing tile by a status. */
export const absent = z
  .array(z.literal([204, 400, 403, 404, 410]))
  .default([204])
  .describe('HTTP statuses that mean there is no tile here: an empty tile is kept');

export function tileOf({ metatile: { z: zoom, rect } }: Pick<SourceRequest, 'metatile'>): TileIndex {
  return { z: zoom, x: rect.minX, y: rect.minY };
}

/** Whether `offered` has a name of the grid set; undefined: web mercator alone. */
export function isOffered(offered: readonly string[] | undefined, gridSet: GridSet): boolean {
  if (!offered) return isWebMercator(gridSet);
  return [gridSet.name, ...gridSet.aliases].some((name) => offered.includes(name));
}

/** `what`: e.g. `The tile archive`. */
export function requireOffered(what: string, offered: readonly string[] | undefined, gridSet: GridSet): void {
  if (isOffered(offered, gridSet)) return;
  const names = offered?.join(', ') ?? 'web mercator';
  throw new TilewardenError(
    'source-unavailable',
    `${what} has no tiles in grid set ${gridSet.name}; it has ${names}.`,
    { reason: 'grid-set' },
  );
}
