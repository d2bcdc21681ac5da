import { TilewardenError } from '../../domain/errors.ts';
import { tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { RebuildResult, RebuildTools } from '../store-driver.ts';
import type { ListedObject, ObjectPage, ObjectStore } from './object-store.ts';
import { type PackedTile, type ParsedKey, parsePackKey } from './pack-detail.ts';
import { type FoundSet, PackIndex } from './pack-index.ts';
import { HEAD_BYTES, type PackHead, readPackHead } from './pack-object.ts';
import { postgresOf } from './pack-store.ts';
import type { PackStoreOptions } from './pack-store-options.ts';
import { PackWriter, UNCONDITIONAL } from './pack-writer.ts';
import type { PackEdit } from './plan-pack-change.ts';
import { sentinelKey } from './sentinel.ts';

/**
 * Rebuilds the index in PostgreSQL from the bucket, after the loss of the database. Of several objects at one place the
 * latest tiles count. Tiles that were truncated or evicted but not yet removed from the bucket come back.
 */
export async function rebuildIndex(
  options: PackStoreOptions & { readonly type: string },
  tools: RebuildTools & { readonly openBucket: () => Promise<ObjectStore> },
): Promise<RebuildResult> {
  const { name, clock, resume } = tools;
  const database = postgresOf(options, tools);
  const index = new PackIndex(database, name);
  if (!resume && !(await index.isEmpty())) throw notEmpty(name);
  const bucket = await tools.openBucket();
  try {
    const { prefix, connections } = options;
    const unused = { randomObject: () => 0, shapeOf: () => ({ columns: 1, rows: 1 }) };
    const writer = new PackWriter({ index, bucket, prefix, clock, ...unused });
    return await new Rebuild({
      ...tools,
      index,
      writer,
      bucket,
      prefix,
      turns: new Semaphore(connections),
    }).run();
  } finally {
    bucket.close();
  }
}

/** Tickets skipped with one statement. */
const TICKETS_ASIDE = 65_536;

interface RebuildParts extends RebuildTools {
  readonly index: PackIndex;
  readonly writer: PackWriter;
  readonly bucket: ObjectStore;
  readonly prefix: string;
  readonly turns: Semaphore;
}

class Rebuild {
  readonly #parts: RebuildParts;
  /** The greatest number of each tile set, by the prefix of its objects. */
  readonly #latest = new Map<string, number>();
  readonly #sets = new Map<string, Promise<FoundSet>>();
  #packs = 0;
  #tiles = 0;
  #leftOut = 0;
  #lastTicket = 0;
  #raising: Promise<void> = Promise.resolve();

  constructor(parts: RebuildParts) {
    this.#parts = parts;
  }

  async run(): Promise<RebuildResult> {
    let expected = 0;
    for await (const { key } of this.#objects()) {
      const parsed = parsePackKey(this.#parts.prefix, key);
      if (!parsed) continue;
      expected++;
      this.#latest.set(folderOf(key), Math.max(parsed.id, this.#latest.get(folderOf(key)) ?? 0));
    }
    const underWay = new Set<Promise<void>>();
    for await (const { key } of this.#objects()) {
      const leave = await this.#parts.turns.acquire(this.#parts.signal);
      const adding = this.#add(key).finally(() => {
        leave();
        underWay.delete(adding);
        this.#parts.onProgress({ packs: this.#packs, expected });
      });
      underWay.add(adding);
      // Its failure is noticed below, or by the next one.
      adding.catch(() => {});
    }
    await Promise.all(underWay);
    const sets = [...this.#sets.keys()].map(tileSetOf);
    return { packs: this.#packs, tiles: this.#tiles, leftOut: this.#leftOut, sets };
  }

  async *#objects(): AsyncGenerator<ListedObject> {
    const { bucket, prefix, signal } = this.#parts;
    let next: string | null = null;
    do {
      signal.throwIfAborted();
      const page: ObjectPage = await bucket.list(prefix, next);
      yield* page.objects.filter(({ key }) => key !== sentinelKey(prefix));
      next = page.next;
    } while (next !== null);
  }

  async #add(key: string): Promise<void> {
    const parsed = parsePackKey(this.#parts.prefix, key);
    const isLatest = parsed && this.#latest.get(folderOf(key)) === parsed.id;
    const head = isLatest ? await this.#headOf(key) : null;
    if (!parsed || !head) {
      this.#leftOut++;
      return;
    }
    const found = await this.#setOf(parsed, head);
    const { set, z, x, y, tiles } = head;
    await this.#ticketsAfter(Math.max(...tiles.map(({ ticket }) => ticket)));
    const edit = newest(parsed, tiles);
    const writtenAt = Math.max(...tiles.map(({ createdAt }) => createdAt));
    const seen = [{ x, y, detail: null }];
    await this.#parts.writer.change(set, found, z, seen, edit, { ...UNCONDITIONAL, writtenAt });
    this.#packs++;
    this.#tiles += tiles.length;
  }

  /** Before a tile is listed: a truncation after an interrupted rebuild must be later than it. */
  async #ticketsAfter(ticket: number): Promise<void> {
    if (ticket > this.#lastTicket) {
      const last = ticket + TICKETS_ASIDE;
      this.#lastTicket = last;
      this.#raising = this.#raising.then(() => this.#parts.index.ticketsAfter(last));
    }
    await this.#raising;
  }

  async #headOf(key: string): Promise<PackHead | null> {
    const { bucket } = this.#parts;
    const start = await bucket.get(key, [0, HEAD_BYTES - 1]);
    const head = start && readPackHead(start);
    if (head || !start || start.length < HEAD_BYTES) return head;
    const whole = await bucket.get(key);
    return whole && readPackHead(whole);
  }

  #setOf({ id }: ParsedKey, { set, columns, rows }: PackHead): Promise<FoundSet> {
    const { index } = this.#parts;
    return getOrCreate(this.#sets, tileSetId(set), async () => {
      await index.restore(id, set, { columns, rows });
      return { id, columns, rows };
    });
  }
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
