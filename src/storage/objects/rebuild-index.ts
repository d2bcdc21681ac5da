import { TilewardenError } from '../../domain/errors.ts';
import { tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { PackEdit } from '../index/directory.ts';
import { PackIndex } from '../index/postgres/pack-index.ts';
import { merged } from '../index/tile-edits.ts';
import { HEAD_BYTES, headLength, readPackHead } from '../pack-object.ts';
import { relistedTiles } from '../pack-tiles.ts';
import { type RebuildResult, type RebuildTools, TICKETS_ASIDE } from '../store-driver.ts';
import { createObjectBytes, type ParsedKey, parseKey } from './object-bytes.ts';
import { type ObjectStore, objectsUnder } from './object-store.ts';
import { postgresOf } from './pack-store.ts';
import type { PackStoreOptions } from './pack-store-options.ts';
import { PackWriter, UNCONDITIONAL } from './pack-writer.ts';
import { sentinelKey } from './sentinel.ts';

/**
 * Rebuilds the index in PostgreSQL from the bucket, after the loss of the database. Of several tiles of a place, the latest
 * is listed. Removed tiles whose objects still exist come back; all tiles count as outdated.
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

/** Adds the tiles of objects to the index. */
function createLister(index: PackIndex, bucket: ObjectStore, { prefix }: PackStoreOptions, clock: Clock) {
  const writer = new PackWriter({ index, bytes: createObjectBytes(bucket, prefix), clock });
  const sets = new Map<string, Promise<number>>();
  const counts = { packs: 0, tiles: 0, leftOut: 0 };
  let lastTicket = 0;
  let raising: Promise<void> = Promise.resolve();

  async function add(key: string, isLatest: (parsed: ParsedKey) => boolean): Promise<void> {
    const parsed = parseKey(prefix, key);
    const tiles = parsed && isLatest(parsed) ? await readTiles(bucket, key, parsed, clock.now()) : null;
    if (!parsed || !tiles) {
      counts.leftOut++;
      return;
    }
    const { set, z, x, y } = tiles.head;
    const id = await getOrCreate(sets, tileSetId(set), async () => {
      await index.restore(parsed.id, set);
      return parsed.id;
    });
    await ticketsAfter(Math.max(...tiles.listed.map(({ making }) => making.ticket)));
    const writtenAt = Math.max(...tiles.listed.map(({ making }) => making.createdAt));
    const conditions = { ...UNCONDITIONAL, writtenAt, changedAt: writtenAt };
    const withListed: PackEdit = (before) => merged(before, tiles.listed, true);
    await writer.change({ id, set, z }, [{ x, y, detail: null }], withListed, conditions);
    counts.packs++;
    counts.tiles += tiles.listed.length;
  }

  /** Raises tickets before a tile is listed, so that a truncation after an interrupted rebuild is later than the tile. */
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
  /** The greatest number of each tile set, by the folder of its objects: only the last one can be in use. */
  const latest = new Map<string, number>();
  let expected = 0;
  for await (const { key } of objectsUnder(bucket, prefix, signal)) {
    const parsed = parseKey(prefix, key);
    if (!parsed) continue;
    expected++;
    latest.set(folderOf(key), Math.max(parsed.id, latest.get(folderOf(key)) ?? 0));
  }
  const turns = new Semaphore(connections);
  const failing = new AbortController();
  const ended = AbortSignal.any([signal, failing.signal]);
  const pending = new Set<Promise<void>>();
  for await (const { key } of objectsUnder(bucket, prefix, ended)) {
    if (key === sentinelKey(prefix)) continue;
    const release = await turns.acquire(ended);
    const adding = add(key, ({ id }) => latest.get(folderOf(key)) === id)
      .then(() => onProgress({ files: counts.packs, expected }))
      .catch((error: unknown) => failing.abort(error))
      .finally(() => {
        release();
        pending.delete(adding);
      });
    pending.add(adding);
  }
  await Promise.all(pending);
  failing.signal.throwIfAborted();
  return { ...counts, sets: [...sets.keys()].map(tileSetOf) };
}

/** Null if the object is not a pack. */
async function readTiles(bucket: ObjectStore, key: string, { object: segment }: ParsedKey, now: number) {
  const start = await bucket.get(key, [0, HEAD_BYTES - 1]);
  const isCut = start?.length === HEAD_BYTES && !readPackHead(start);
  const bytes = isCut ? await bucket.get(key) : start;
  const head = bytes && readPackHead(bytes);
  if (!head || head.tiles.length === 0) return null;
  return { head, listed: relistedTiles(head, segment, headLength(bytes) ?? 0, now) };
}

/** The part of a key that names layer and tile set, without the tile set's number. */
function folderOf(key: string): string {
  return key.split('/').slice(0, -3).join('/');
}

function notEmpty(name: string): TilewardenError {
  const message = `The index of the store ${name} is not empty. Rebuilding is for a database that is lost; with --resume an interrupted attempt goes on.`;
  return new TilewardenError('config-invalid', message);
}
