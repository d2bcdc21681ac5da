import { countedSet, type ParameterSets } from '../catalog/parameter-sets.ts';
import { falseIfOutdated, TilewardenError } from '../domain/errors.ts';
import { MADE_BY_REQUEST, type TileIndex } from '../domain/tile-key.ts';
import { intersectRects, rectContains, sizeOfRect, type TileRect, tilesOfRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { presentTiles } from '../storage/read-tiles.ts';
import type { AdoptedTiles } from './adopted-tiles.ts';
import type { Flight } from './flight.ts';
import type { Flights } from './flights.ts';
import { freshSince, isKept } from './freshness.ts';
import { onlyForCallers } from './passed-reads.ts';
import { NOTHING_RENEWED, type RenewRequest, type RenewResult, type TilePipeline } from './tile-pipeline.ts';

const MAX_ATTEMPTS = 3;

/** Renews metatiles for tasks, by the same flights as for clients. */
export function createRenewer(
  flights: Flights,
  adopted: AdoptedTiles,
  clock: Clock,
  parameterSets?: Pick<ParameterSets, 'admit' | 'require'>,
): TilePipeline['renew'] {
  /** Null if the tiles were outdated or made elsewhere in the meantime: the caller tries again. */
  async function tryOnce(
    request: RenewRequest,
    after: number,
    onStart: () => void,
  ): Promise<RenewResult | null> {
    const { tiles, metatile, within, mode, signal } = request;
    signal.throwIfAborted();
    const { layer, gridSet } = tiles.set;
    if (tiles.bound.layer.passCredentials) throw onlyForCallers(layer);
    const place = { gridSet, z: metatile.z, rect: metatile.rect };
    const { number: ticket, generation } = await tiles.bound.store.ticket(layer, place);
    const present = mode === 'all' ? new Set<string>() : await presentIn(request);
    const copied = await copyAdopted(request, present, generation).catch(falseIfOutdated);
    if (copied === false) return null;
    if (present.size === sizeOfRect(within))
      return { ...NOTHING_RENEWED, present: present.size, bytes: copied };
    if (mode === 'stale' && !(await hasStale(request, present.size))) {
      return { ...NOTHING_RENEWED, present: sizeOfRect(within) };
    }
    await request.turn?.();
    signal.throwIfAborted();
    const joined = flights.find(tiles.set, metatile, generation, mode === 'all' ? after : 0);
    const flight = joined ?? start(request, ticket, onStart);
    if (request.answered) flight.whenFetched(request.answered);
    const stored = await flight.landed(signal).catch(falseIfOutdated);
    return stored ? resultOf(flight, within, present, joined === null) : null;
  }

  function start(request: RenewRequest, ticket: number, onStart: () => void): Flight {
    const { tiles, metatile, task, lease, sent, storeAgain } = request;
    onStart();
    const madeBy = task ?? MADE_BY_REQUEST;
    const plan = { tiles, metatile, ticket, priority: 'task', madeBy, lease, sent, storeAgain } as const;
    return flights.start(plan, async () => false);
  }

  /** Copies missing tiles from an adopted cache, adds them to `present`, and returns their bytes. */
  async function copyAdopted(
    { tiles, metatile, within, mode }: RenewRequest,
    present: Set<string>,
    generation: number,
  ): Promise<number> {
    if (mode !== 'missing' || !tiles.bound.source().oldCache) return 0;
    const missing = tilesOfRect(metatile.z, within).filter((tile) => !present.has(tileText(tile)));
    const copied = await adopted.copy(tiles, missing, generation);
    for (const tile of copied) present.add(tileText(tile));
    return copied.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  async function presentIn({ tiles, metatile, within }: RenewRequest): Promise<Set<string>> {
    const now = clock.now();
    const since = freshSince(tiles.bound.layer, metatile.z, now);
    const present = await presentTiles(tiles.bound.store, tiles.set, metatile.z, within, since, now);
    return new Set(present.map(tileText));
  }

  /** Each attempt takes a later ticket, after a truncation or another change in the meantime. */
  return async (request) => {
    const within = intersectRects(request.within, request.metatile.rect);
    if (!within) return NOTHING_RENEWED;
    if (!isKept(request.tiles, request.metatile.z))
      return { ...NOTHING_RENEWED, present: sizeOfRect(within) };
    await parameterSets?.require(...countedSet(request.tiles));
    const after = flights.started;
    let upstreamRequests = 0;
    const onStart = () => upstreamRequests++;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const result = await tryOnce({ ...request, within }, after, onStart);
      if (result) return { ...result, upstreamRequests };
    }
    throw new TilewardenError('generation-stale', 'The layer is being truncated or renewed repeatedly.');
  };
}

async function hasStale({ tiles, metatile, within }: RenewRequest, fresh: number): Promise<boolean> {
  const there = await presentTiles(tiles.bound.store, tiles.set, metatile.z, within, 0);
  return there.length > fresh;
}

/** Bytes are counted only for the caller that started the flight. */
function resultOf(
  flight: Flight,
  within: TileRect,
  present: ReadonlySet<string>,
  ownFlight: boolean,
): RenewResult {
  if (flight.confirmed) return { ...NOTHING_RENEWED, present: sizeOfRect(within) };
  const all = flight.madeTiles();
  const made = all.filter((tile) => rectContains(within, tile.x, tile.y) && !present.has(tileText(tile)));
  return {
    made: made.length,
    present: present.size,
    blank: made.filter((tile) => tile.blank).length,
    bytes: ownFlight ? all.reduce((sum, tile) => sum + tile.bytes.length, 0) : 0,
    upstreamRequests: 0,
  };
}

function tileText({ x, y }: Pick<TileIndex, 'x' | 'y'>): string {
  return `${x}/${y}`;
}
