import { TilewardenError } from '../domain/errors.ts';
import { MADE_BY_REQUEST, type TileIndex } from '../domain/tile-key.ts';
import type { Flights } from './flights.ts';
import { checkTile, metatileWith, SINGLE_TILE } from './resolve-tile-set.ts';
import type { CachedTile, OwnCredentials, ResolvedTileSet } from './tile-pipeline.ts';

/**
 * Reads tiles of layers with `passCredentials`, where the source decides by the client's credentials. Each read is a fetch
 * of its own: memory, store, adopted cache, recent failures and flights are not shared, and nothing is cached.
 */
export class PassedReads {
  readonly #flights: Pick<Flights, 'start'>;
  /** Until `guard` is called, no header is passed on: it might contain credentials of this server. */
  #isOwn: OwnCredentials = async () => true;

  constructor(flights: Pick<Flights, 'start'>) {
    this.#flights = flights;
  }

  guard(isOwn: OwnCredentials): void {
    this.#isOwn = isOwn;
  }

  async read(tiles: ResolvedTileSet, tile: TileIndex, signal?: AbortSignal): Promise<CachedTile> {
    const { authorization } = tiles;
    if (authorization === undefined) throw onlyForCallers(tiles.set.layer);
    checkTile(tiles, tile);
    const metatile = metatileWith(tiles, tile, SINGLE_TILE);
    const isPassed = authorization !== null && !(await this.#isOwn(authorization));
    const passed = { ...tiles, authorization: isPassed ? authorization : null };
    const plan = { tiles: passed, metatile, ticket: null, madeBy: MADE_BY_REQUEST } as const;
    const flight = this.#flights.start({ ...plan, priority: 'interactive' }, async () => false);
    const made = await flight.tile(tile, signal);
    if (!made) throw onlyForCallers(tiles.set.layer);
    const { bytes, createdAt, checksum, freshUntil } = made;
    return { bytes, createdAt, checksum, freshUntil, outcome: 'BYPASS' };
  }
}

/** The error of work without a client whose credentials could be passed on. */
export function onlyForCallers(layer: string): TilewardenError {
  return new TilewardenError(
    'request-invalid',
    `Layer ${layer} passes on the credentials of its callers (passCredentials): its tiles are not stored, and cannot be seeded, renewed, exported or drawn from.`,
  );
}
