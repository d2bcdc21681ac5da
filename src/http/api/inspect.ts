/** One tile: its place, stored content, maker and source. Also finds the pages of tile addresses in access logs. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { coordsOf } from '../../domain/bounds.ts';
import { boundsOfTile } from '../../domain/grid-set.ts';
import { metatileOf } from '../../domain/metatile.ts';
import {
  MADE_BY_REQUEST,
  pageOf,
  type TileIndex,
  type TileMaker,
  tileSetId,
  tileSetNames,
} from '../../domain/tile-key.ts';
import { isoTime } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { sourceRequestOf } from '../../pipeline/accept-answer.ts';
import { freshUntil } from '../../pipeline/freshness.ts';
import { checkTile, metatileSizeOf } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { Task } from '../../tasks/task.ts';
import { shownTo } from '../context.ts';
import { vectorResponse } from '../hits/hits.ts';
import { HttpProblem } from '../problems.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { type OfTileSet, requestedTileSet, tileIn, tileSet } from './coverage.ts';
import { failureDocument, layerFailure } from './layers.ts';
import { bounds, count, parameters, time } from './values.ts';

export const tileResponse = z.object({
  ...tileSet,
  z: z.number().int(),
  x: z.number().int(),
  y: z.number().int(),
  parameters,
  bounds,
  stored: z
    .object({
      bytes: count,
      checksum: z.string(),
      storedAt: time,
      ageSeconds: z.number(),
      expiresAt: time.nullable(),
      expired: z.boolean(),
      madeBy: z.object({
        kind: z
          .enum(['task', 'request', 'unknown'])
          .describe('unknown: stored by another program, or by a version that did not record it'),
        task: z.number().int().nullable(),
        inHistory: z.boolean().describe('Whether /api/v1/tasks/{id} still has the task'),
      }),
    })
    .nullable(),
  page: z.object({ x: z.number(), y: z.number(), hits: count, lastUsedAt: time.nullable() }),
  metatile: z.object({ minX: z.number(), minY: z.number(), maxX: z.number(), maxY: z.number() }).nullable(),
  upstream: z.string().nullable().describe('Address of the request to the map server, without secrets'),
  lastFailure: layerFailure.describe('The last failure of the layer, of any tile'),
});

/** Browsers cache thumbnails this long; other uses of the content bypass that cache. */
const CONTENT_SECONDS = 60;

type OfTile = OfTileSet & Call<{ params: 'z' | 'x' | 'y' }>;

async function tilePlace(call: OfTile, { catalog }: ApiDeps) {
  const tiles = await requestedTileSet(call, catalog);
  const tile = tileIn(call);
  checkTile(tiles, tile);
  return { tiles, tile };
}

/** The stored tile, even if it has expired: a tile service would renew it first. */
export async function showContent(call: OfTile, deps: ApiDeps) {
  if (call.caller.areas) throw new HttpProblem('forbidden', 'Accounts with areas see no stored tiles.');
  const { tiles, tile } = await tilePlace(call, deps);
  const stored = await tiles.bound.store.get(tiles.set, tile);
  if (!stored) throw new HttpProblem('tile-not-stored', 'This tile is not in the cache.');
  const lifetime = `private, max-age=${CONTENT_SECONDS}`;
  const type = ['Content-Type', tiles.format.mediaType, 'Cache-Control', lifetime];
  if (tiles.format.kind !== 'opaque') return { status: 200, headers: type, body: stored.bytes };
  const read = { ...stored, outcome: 'HIT' as const };
  const { answer, headers } = await vectorResponse(call.context.headers['accept-encoding'], read);
  return { status: 200, headers: [...type, ...headers], body: answer.bytes };
}

/** Reads the store only: neither fetches nor makes the tile. */
export async function inspectTile(call: OfTile, deps: ApiDeps) {
  const { quota, tasks, layerState, clock } = deps;
  const { tiles, tile } = await tilePlace(call, deps);
  return {
    ...tileSetNames(tiles.set),
    ...tile,
    parameters: Object.fromEntries(tiles.selection.values),
    bounds: coordsOf(boundsOfTile(tiles.subset.gridSet, tile.z, tile.x, tile.y)),
    stored: await storedDocument(tiles, tile, tasks, clock.now()),
    page: await pageDocument(tiles, tile, quota),
    lastFailure: failureDocument(layerState(tiles.set.layer).lastFailure),
    ...shownTo(call, sourceDocument(tiles, tile)),
  };
}

async function storedDocument(
  { bound, set }: ResolvedTileSet,
  tile: TileIndex,
  tasks: ApiDeps['tasks'],
  now: number,
) {
  const stored = await bound.store.get(set, tile);
  if (!stored) return null;
  const expires = freshUntil(bound.layer, tile.z, stored);
  return {
    bytes: stored.bytes.length,
    checksum: stored.checksum.toString(16).padStart(8, '0'),
    storedAt: isoTime(stored.createdAt),
    ageSeconds: Math.max(0, Math.round((now - stored.createdAt) / 1000)),
    expiresAt: isoTime(expires),
    expired: expires !== null && expires <= now,
    madeBy: await makerDocument(set.layer, stored, tasks),
  };
}

/** Clocks of other nodes may differ by this much. */
const CLOCK_TOLERANCE_MS = 60_000;

async function makerDocument(
  layer: string,
  { madeBy, createdAt }: { readonly madeBy: TileMaker; readonly createdAt: number },
  tasks: ApiDeps['tasks'],
) {
  if (madeBy === null) return { kind: 'unknown', task: null, inHistory: false };
  if (madeBy === MADE_BY_REQUEST) return { kind: 'request', task: null, inHistory: false };
  const task = await tasks.get(madeBy);
  return { kind: 'task', task: madeBy, inHistory: task !== null && couldHaveMade(task, layer, createdAt) };
}

/** False for another task with the same id, which is possible after the database was lost or replaced. */
function couldHaveMade({ request, startedAt, endedAt }: Task, layer: string, at: number): boolean {
  if (startedAt === null || request.layer !== layer || request.type === 'truncate') return false;
  const until = endedAt ?? Number.POSITIVE_INFINITY;
  return startedAt - CLOCK_TOLERANCE_MS <= at && at <= until + CLOCK_TOLERANCE_MS;
}

async function pageDocument({ set }: ResolvedTileSet, tile: TileIndex, quota: ApiDeps['quota']) {
  const use = await quota.useOf(set, tile);
  return {
    x: pageOf(tile.x),
    y: pageOf(tile.y),
    hits: use?.hits ?? 0,
    lastUsedAt: use ? isoTime(use.usedAt) : null,
  };
}

function sourceDocument(tiles: ResolvedTileSet, { z, x, y }: TileIndex) {
  const metatile = metatileOf(tiles.subset, metatileSizeOf(tiles), z, x, y);
  if (!metatile) return { metatile: null, upstream: null };
  const plan = { tiles, metatile, priority: 'interactive' as const };
  const request = sourceRequestOf(plan, null, AbortSignal.abort());
  return { metatile: metatile.rect, upstream: tiles.bound.source().addressOf?.(request) ?? null };
}

export const tileAddressesBody = z.strictObject({
  addresses: z
    .array(z.string().max(2000))
    .min(1)
    .max(1000)
    .describe('Paths or whole addresses, as in an access log'),
});

const number = z.number().int();
const ADDRESSES_PER_TURN = 50;

export const tileAddressesResponse = z.object({
  tileSets: z.array(z.object({ layer: z.string(), gridSet: z.string(), format: z.string(), parameters })),
  pages: z
    .array(z.tuple([number, number, number, number]).nullable())
    .describe('For each address: index in tileSets, then zoom, column and row of the page; null: no tile'),
});

export async function findTiles(
  { body, context }: Call<{ body: typeof tileAddressesBody }>,
  { tileAt }: ApiDeps,
) {
  const numbers = new Map<string, number>();
  const tileSets: object[] = [];
  const pages: (readonly number[] | null)[] = [];
  for (const [i, address] of body.addresses.entries()) {
    if (i % ADDRESSES_PER_TURN === 0) await nextTurn();
    const tile = await tileAt(context, address);
    if (!tile) pages.push(null);
    else pages.push([tileSetNumber(tile.tiles), tile.index.z, pageOf(tile.index.x), pageOf(tile.index.y)]);
  }
  return { tileSets, pages };

  function tileSetNumber({ set, selection }: ResolvedTileSet): number {
    return getOrCreate(numbers, tileSetId(set), () => {
      const { layer, gridSet, format } = set;
      return tileSets.push({ layer, gridSet, format, parameters: Object.fromEntries(selection.values) }) - 1;
    });
  }
}
