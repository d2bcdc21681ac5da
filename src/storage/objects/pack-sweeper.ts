import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { tileSetOf } from '../../domain/tile-key.ts';
import type { Env } from '../../lib/env.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { openRepeater, type Repeater } from '../../lib/repeat.ts';
import { Directory, type PackPosition } from '../index/directory.ts';
import type { PackIndex } from '../index/postgres/pack-index.ts';
import { HEAD_BYTES, type PackPlace, readPackHead } from '../pack-object.ts';
import { type NumberedSet, type ObjectBytes, type ParsedKey, parseKey } from './object-bytes.ts';
import type { ListedObject, ObjectStore } from './object-store.ts';

interface PackSweeperOptions extends Env {
  readonly name: string;
  readonly database: Database;
  readonly bucket: ObjectStore;
  readonly bytes: Pick<ObjectBytes, 'key'>;
  readonly prefix: string;
  readonly requestsPerSecond: number;
  readonly sweeps: () => boolean;
  readonly index: Pick<PackIndex, 'restore'>;
  /** Whether this database has listed all of the store's objects since the first; see `sentinel.ts`. */
  readonly listsAll: () => Promise<boolean>;
}

interface DroppedPack extends PackPlace {
  readonly band: number;
  readonly detail: Buffer;
}

interface KeyedPack {
  readonly pack: DroppedPack;
  readonly keys: readonly string[];
}

interface Orphan extends ParsedKey {
  readonly set: number;
  readonly identity: string;
}

/** Limit of objects that a request removes. */
const BATCH = 1000;
/** Limit of rows of `pages` that a statement removes. */
const PAGES = 10_000;
/** Milliseconds between sweeps, and that less than a batch of objects waits for more. */
const SWEEP_INTERVAL_MS = 1000;
const MAX_LINGER_MS = 60_000;
/** Milliseconds between requests that list the bucket, 1,000 objects each. */
const AUDIT_INTERVAL_MS = 10_000;
/** Limit of objects without a row that are remembered between sweeps; further ones follow later. */
const MAX_UNLISTED = 50_000;
/** Milliseconds after which rows of dropped tile sets are deleted. */
const DROPPED_SETS_MS = 30 * 86_400_000;

/**
 * Removes objects that the index no longer names, in the background:
 *
 *   objects of dropped tile sets   found by the sets' rows in `packs`   removed immediately, then the rows
 *   replaced objects               found by rows in `orphans`           removed in batches, or when woken
 *   unlisted objects               left by a crash, without a row       found by listing the bucket, removed after a day
 */
export class PackSweeper {
  readonly #options: PackSweeperOptions;
  readonly #stopping = new AbortController();
  readonly #sweeps: Repeater;
  /** The next sweep removes orphans even if there are few. */
  #isUrgent = false;
  #sweptAt: number;
  #auditAt: number;
  #listedUpTo: string | null = null;
  /** When objects without a row were first seen, by the monotonic clock, because the system's clock may jump ahead. */
  readonly #unlisted = new Map<string, number>();
  #checked = false;

  constructor(options: PackSweeperOptions) {
    this.#options = options;
    this.#sweptAt = options.clock.monotonic();
    this.#auditAt = options.clock.monotonic() + AUDIT_INTERVAL_MS;
    const failure = 'unused objects could not be removed; retrying soon';
    const sweeps = { ...options, pause: SWEEP_INTERVAL_MS, pauseFirst: true, failure } as const;
    this.#sweeps = openRepeater(() => this.#sweep(), sweeps);
  }

  wake(): void {
    this.#isUrgent = true;
    this.#sweeps.wake();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeps.close();
  }

  async #sweep(): Promise<void> {
    if (!this.#options.sweeps()) return;
    const isUrgent = this.#isUrgent;
    this.#isUrgent = false;
    if (!this.#checked) await this.#resetFutureRows();
    this.#checked = true;
    await this.#sweepDropped();
    await this.#sweepOrphans(isUrgent);
    await this.#audit();
  }

  /** After a restore, numbers of transactions may repeat: rows with numbers from before would always count as new. */
  async #resetFutureRows(): Promise<void> {
    const { change } = this.#options.database;
    const ahead = sql`> pg_snapshot_xmax(pg_current_snapshot())::text::bigint`;
    await sql`update pages set renewed = 0 where renewed ${ahead}`.execute(change);
    await sql`update marks set changed = 0 where changed ${ahead}`.execute(change);
    await sql`update tile_sets set dropped = 0 where dropped ${ahead}`.execute(change);
  }

  async #sweepDropped(): Promise<void> {
    const { database, name, clock } = this.#options;
    const query = sql<{ id: number; identity: string }>`select id, identity from tile_sets
      where store = ${name} and dropped_at is not null and not swept order by dropped_at limit 100`;
    for (const { id, identity } of (await query.execute(database.query)).rows)
      await this.#sweepSet({ id, set: tileSetOf(identity) });
    await sql`delete from tile_sets s where store = ${name} and swept and dropped_at < ${clock.now() - DROPPED_SETS_MS}
      and not exists (select from orphans o where o.tile_set = s.id)`.execute(database.change);
  }

  /** Deletes rows after their objects, and marks the set as swept last, so that a crash in between loses no object. */
  async #sweepSet(set: NumberedSet): Promise<void> {
    const { change } = this.#options.database;
    for (let last: DroppedPack | null = null; !this.#stopping.signal.aborted; ) {
      const found: readonly DroppedPack[] = await this.#packsAfter(set.id, last);
      const taken = firstBatch(found.map((pack) => ({ pack, keys: this.#keysOf(set, pack) })));
      last = taken.at(-1)?.pack ?? null;
      if (!last) break;
      await this.#remove(taken.flatMap(({ keys }) => keys));
      const { z, band, x, y }: DroppedPack = last;
      await sql`delete from packs where tile_set = ${set.id}
        and (z, band, x, y) <= (${z}::smallint, ${band}::int, ${x}::int, ${y}::int)`.execute(change);
    }
    await sql`delete from usage where tile_set = ${set.id}`.execute(change);
    for (let gone = PAGES; gone === PAGES && !this.#stopping.signal.aborted; ) {
      const deleted = await sql`delete from pages where ctid in (
        select ctid from pages where tile_set = ${set.id} limit ${PAGES})`.execute(change);
      gone = Number(deleted.numAffectedRows ?? 0);
    }
    if (this.#stopping.signal.aborted) return;
    await sql`update tile_sets set swept = true where id = ${set.id}`.execute(change);
  }

  async #packsAfter(set: number, last: DroppedPack | null): Promise<DroppedPack[]> {
    const { z, band, x, y } = last ?? { z: -1, band: -1, x: -1, y: -1 };
    const query = sql<DroppedPack>`select z, band, x, y, detail from packs
      where tile_set = ${set} and (z, band, x, y) > (${z}::smallint, ${band}::int, ${x}::int, ${y}::int)
      order by z, band, x, y limit ${BATCH}`;
    return (await query.execute(this.#options.database.query)).rows;
  }

  #keysOf(set: NumberedSet, { detail, ...place }: DroppedPack): string[] {
    const objects = objectsIn({ ...place, set: set.id }, detail) ?? [];
    return [...objects].map((object) => this.#options.bytes.key(set, { ...place, object }));
  }

  /** Removes replaced objects in batches. Less than a batch waits up to `MAX_LINGER_MS` for more, unless `now`. */
  async #sweepOrphans(now: boolean): Promise<void> {
    const { database, name, clock, bytes } = this.#options;
    const query = sql<Orphan>`select o.id, o.object, o.tile_set as set, o.z, o.x, o.y, s.identity
      from orphans o join tile_sets s on s.id = o.tile_set
      where s.store = ${name} order by o.id limit ${BATCH}`;
    while (!this.#stopping.signal.aborted) {
      const orphans = (await query.execute(database.query)).rows;
      const named = await objectsNamed(
        database,
        name,
        orphans.map(({ set: id, z, x, y, object }) => ({ id, z, x, y, object })),
      );
      const few = orphans.length < BATCH;
      if (orphans.length === 0 || (few && !now && clock.monotonic() - this.#sweptAt < MAX_LINGER_MS)) return;
      const unneeded = orphans.filter(({ object }, at) => !named.get(at)?.has(object));
      const keys = unneeded.map(({ object, set, identity, ...place }) =>
        bytes.key({ id: set, set: tileSetOf(identity) }, { ...place, object }),
      );
      if (keys.length > 0) await this.#remove(keys);
      await sql`delete from orphans where id = any(${orphans.map(({ id }) => id)}::bigint[])`.execute(
        database.change,
      );
      this.#sweptAt = clock.monotonic();
    }
  }

  /** Lists a page of the bucket, in an endless cycle, to find objects that a crash has left without a row. */
  async #audit(): Promise<void> {
    const { clock, bucket, prefix, database, name } = this.#options;
    if (clock.monotonic() < this.#auditAt) return;
    this.#auditAt = clock.monotonic() + AUDIT_INTERVAL_MS;
    const { objects, next } = await bucket.list(prefix, this.#listedUpTo);
    this.#listedUpTo = next;
    const old = oldPacks(prefix, objects, clock.now());
    const unlisted = new Set(await findUnlisted(database, name, old, clock.now()));
    const now = clock.monotonic();
    for (const { key } of objects) {
      if (!unlisted.has(key)) this.#unlisted.delete(key);
      else if (this.#unlisted.size < MAX_UNLISTED) getOrCreate(this.#unlisted, key, () => now);
    }
    const left = [...unlisted].filter((key) => now - (this.#unlisted.get(key) ?? now) > MAX_WRITE);
    if (left.length > 0) await this.#remove(left);
    for (const key of left) this.#unlisted.delete(key);
    await this.#listUnknown(old);
  }

  /**
   * Finds tile sets that are newer than the backup from which the database was restored. They are listed as dropped, and
   * their objects removed a day later, if a head and the sentinel prove that they belong to this store. A new database
   * leaves them alone, because its index may yet be rebuilt from them.
   */
  async #listUnknown(packs: readonly ListedPack[]): Promise<void> {
    const { bucket, database, index, clock, log, listsAll } = this.#options;
    for (const [id, key] of await unknownSets(database, packs)) {
      if (!(await listsAll())) return;
      const start = await bucket.get(key, [0, HEAD_BYTES - 1]);
      const head = start && readPackHead(start);
      if (!head) continue;
      await index.restore(id, head.set, clock.now());
      const { layer } = head.set;
      log.warn(
        { layer, set: id },
        'found objects of a tile set that is not in the database; they are removed in a day',
      );
    }
  }

  async #remove(keys: readonly string[]): Promise<void> {
    const { bucket, clock, requestsPerSecond } = this.#options;
    await bucket.remove(keys);
    await clock.sleep(1000 / requestsPerSecond, this.#stopping.signal).catch(() => {});
  }
}

/** The first packs, as many as have their objects removed by one request. */
function firstBatch(packs: readonly KeyedPack[]): readonly KeyedPack[] {
  const taken: KeyedPack[] = [];
  let objects = 0;
  for (const pack of packs) {
    objects += pack.keys.length;
    if (objects > BATCH) return taken;
    taken.push(pack);
  }
  return taken;
}

/** Milliseconds, more than any write takes. */
export const MAX_WRITE = 3_600_000;

/** Milliseconds after its last change that an object without a row is left, in case the rows are wrong. */
const QUARANTINE_MS = 86_400_000;

interface ListedPack extends ParsedKey {
  readonly key: string;
}

/** Packs that are older than the quarantine. Other objects are left out. */
export function oldPacks(prefix: string, objects: readonly ListedObject[], now: number): ListedPack[] {
  return objects.flatMap(({ key, modifiedAt }) => {
    const parsed = modifiedAt < now - QUARANTINE_MS ? parseKey(prefix, key) : null;
    return parsed ? [{ key, ...parsed }] : [];
  });
}

/** Keys of objects that no row names, except those of tile sets that are unknown to the database. */
export async function findUnlisted(
  database: Database,
  store: string,
  packs: readonly ListedPack[],
  now: number,
): Promise<string[]> {
  if (packs.length === 0) return [];
  const named = await objectsNamed(database, store, packs, now - QUARANTINE_MS);
  return packs.flatMap(({ key, object }, at) => (named.get(at)?.has(object) === false ? [key] : []));
}

/** An object's key for each tile set that has objects and no row, by its number. */
async function unknownSets(
  database: Database,
  packs: readonly ListedPack[],
): Promise<ReadonlyMap<number, string>> {
  const found = new Map(packs.map(({ id, key }) => [id, key]));
  if (found.size === 0) return found;
  const known = sql<{ id: number }>`select id from tile_sets where id = any(${[...found.keys()]}::int[])`;
  for (const { id } of (await known.execute(database.query)).rows) found.delete(id);
  return found;
}

/**
 * The objects that the rows of packs name, by index in `places`. No entry for an unreadable row, or a tile set that is not
 * this store's or was dropped at `droppedBefore` or later.
 */
async function objectsNamed(
  database: Database,
  store: string,
  places: readonly ParsedKey[],
  droppedBefore = Number.MAX_SAFE_INTEGER,
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const query = sql<{ at: number; detail: Buffer | null }>`select w.at::int - 1 as at, p.detail
    from unnest(${places.map(({ id }) => id)}::int[], ${places.map(({ z }) => z)}::smallint[],
      ${places.map(({ x }) => x)}::int[], ${places.map(({ y }) => y)}::int[]) with ordinality w (set, z, x, y, at)
    join tile_sets s on s.id = w.set and s.store = ${store} and coalesce(s.dropped_at, 0) < ${droppedBefore}
    left join packs p on p.tile_set = w.set and p.z = w.z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y`;
  const { rows } = await query.execute(database.query);
  return new Map(
    rows.flatMap(({ at, detail }): [number, ReadonlySet<number>][] => {
      const { id: set = 0, z = 0, x = 0, y = 0 } = places[at] ?? {};
      const objects = detail ? objectsIn({ set, z, x, y }, detail) : new Set<number>();
      return objects ? [[at, objects]] : [];
    }),
  );
}

/** The objects that a row names; null if it is damaged, or of a later version. */
function objectsIn(position: PackPosition, detail: Buffer): ReadonlySet<number> | null {
  const directory = Directory.read(detail, position);
  return directory && new Set(directory.tiles().map(({ segment }) => segment));
}
