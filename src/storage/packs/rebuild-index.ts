import { TilewardenError } from '../../domain/errors.ts';
import { tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { HEAD_BYTES, type PackHead, readPackHead } from '../pack-object.ts';
import type { RebuildResult, RebuildTools } from '../store-driver.ts';
import type { ListedObject, ObjectPage, ObjectStore } from './object-store.ts';
import { type PackedTile, type ParsedKey, parsePackKey } from './pack-detail.ts';
import { PackIndex, type SetRow } from './pack-index.ts';
import { postgresOf } from './pack-store.ts';
import type { PackStoreOptions } from './pack-store-options.ts';
import { PackWriter, UNCONDITIONAL } from './pack-writer.ts';
import type { PackEdit } from './plan-pack-change.ts';
import { sentinelKey } from './sentinel.ts';

/** Tickets skipped with one statement. */
const TICKETS_ASIDE = 65_536;

/**
 * Rebuilds the index in PostgreSQL from the bucket, after the loss of the database. Of several objects at one place the
 * latest tiles count. Tiles that were truncated or evicted but not yet removed from the bucket come back.
 */
export async function rebuildIndex(
  options: PackStoreOptions & { readonly type: string },
  tools: RebuildTools & { readonly openBucket: () => Promise<ObjectStore> },
): Promise<RebuildResult> {
  const index = new PackIndex(postgresOf(options, tools), tools.name);
  if (!tools.resume && !(await index.isEmpty())) throw notEmpty(tools.name);
  const bucket = await tools.openBucket();
  try {
    return await listPacks(options, tools, index, bucket);
  } finally {
    bucket.close();
  }
}

/** Lists packs one by one. */
function createLister(index: PackIndex, bucket: ObjectStore, { prefix }: PackStoreOptions, clock: Clock) {
  const unused = { randomObject: () => 0, shapeOf: () => ({ columns: 1, rows: 1 }) };
  const writer = new PackWriter({ index, bucket, prefix, clock, ...unused });
  const sets = new Map<string, Promise<SetRow>>();
  const counts = { packs: 0, tiles: 0, leftOut: 0 };
  let lastTicket = 0;
  let raising: Promise<void> = Promise.resolve();

  async function add(key: string, isLatest: (parsed: ParsedKey) => boolean): Promise<void> {
    const parsed = parsePackKey(prefix, key);
    const head = parsed && isLatest(parsed) ? await readHead(bucket, key) : null;
    if (!parsed || !head) {
      counts.leftOut++;
      return;
    }
    const { set, z, x, y, tiles, columns, rows } = head;
    const setRow = await getOrCreate(sets, tileSetId(set), async () => {
      await index.restore(parsed.id, set, { columns, rows });
      return { id: parsed.id, columns, rows };
    });
    await ticketsAfter(Math.max(...tiles.map(({ ticket }) => ticket)));
    const writtenAt = Math.max(...tiles.map(({ createdAt }) => createdAt));
    const seen = [{ x, y, detail: null }];
    await writer.change(set, setRow, z, seen, newest(parsed, tiles), { ...UNCONDITIONAL, writtenAt });
    counts.packs++;
    counts.tiles += tiles.length;
  }

  /** Before a tile is listed: a truncation after an interrupted rebuild must be later than it. */
  async function ticketsAfter(ticket: number): Promise<void> {
    if (ticket > lastTicket) {
      const last = ticket + TICKETS_ASIDE;
      lastTicket = last;
      raising = raising.then(() => index.ticketsAfter(last));
    }
    await raising;
  }

  return { add, counts, sets };
}

async function listPacks(
  options: PackStoreOptions,
  { clock, signal, onProgress }: RebuildTools,
  index: PackIndex,
  bucket: ObjectStore,
): Promise<RebuildResult> {
  const { prefix, connections } = options;
  const { add, counts, sets } = createLister(index, bucket, options, clock);
  /** The greatest number of each tile set, by the prefix of its objects. */
  const latest = new Map<string, number>();
  let expected = 0;
  for await (const { key } of objectsIn(bucket, prefix, signal)) {
    const parsed = parsePackKey(prefix, key);
    if (!parsed) continue;
    expected++;
    latest.set(folderOf(key), Math.max(parsed.id, latest.get(folderOf(key)) ?? 0));
  }
  const turns = new Semaphore(connections);
  const underWay = new Set<Promise<void>>();
  for await (const { key } of objectsIn(bucket, prefix, signal)) {
    const leave = await turns.acquire(signal);
    const adding = add(key, ({ id }) => latest.get(folderOf(key)) === id).finally(() => {
      leave();
      underWay.delete(adding);
      onProgress({ packs: counts.packs, expected });
    });
    underWay.add(adding);
    // Its failure is noticed below, or by the next one.
    adding.catch(() => {});
  }
  await Promise.all(underWay);
  return { ...counts, sets: [...sets.keys()].map(tileSetOf) };
}

async function* objectsIn(
  bucket: ObjectStore,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  let next: string | null = null;
  do {
    signal.throwIfAborted();
    const page: ObjectPage = await bucket.list(prefix, next);
    yield* page.objects.filter(({ key }) => key !== sentinelKey(prefix));
    next = page.next;
  } while (next !== null);
}

async function readHead(bucket: ObjectStore, key: string): Promise<PackHead | null> {
  const start = await bucket.get(key, [0, HEAD_BYTES - 1]);
  const head = start && readPackHead(start);
  if (head || !start || start.length < HEAD_BYTES) return head;
  const whole = await bucket.get(key);
  return whole && readPackHead(whole);
}

function newest({ object }: ParsedKey, tiles: PackHead['tiles']): PackEdit {
  return (_, before) => {
    const after = new Map<number, PackedTile>(before.map((tile) => [tile.slot, tile]));
    for (const tile of tiles) {
      const present = after.get(tile.slot);
      if (!present || isLater(tile, present)) after.set(tile.slot, { ...tile, object });
    }
    return [...after.values()];
  };
}

/** Tiles of version 0.2 have no tickets. */
function isLater(tile: Pick<PackedTile, 'ticket' | 'createdAt'>, than: PackedTile): boolean {
  return tile.ticket === than.ticket ? tile.createdAt > than.createdAt : tile.ticket > than.ticket;
}

/** Layer and tile set, without the number. */
function folderOf(key: string): string {
  return key.split('/').slice(0, -3).join('/');
}

function notEmpty(name: string): TilewardenError {
  const message = `The index of the store ${name} is not empty. Rebuilding is for a database that is lost; with --resume an interrupted attempt goes on.`;
  return new TilewardenError('config-invalid', message);
}
