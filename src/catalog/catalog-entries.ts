import type { Database, Statements } from '../db/database.ts';
import { raise } from '../db/numbers.ts';
import type { RowOf } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { ServiceDescription } from '../domain/service-description.ts';
import type { Clock } from '../lib/clock.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import { isRecord } from '../lib/value-path.ts';

export type EntryKind = 'layer' | 'grid-set';
/**
 * There is one `service`. `area` is the record of a shape that was read, `area-points` a part of its points, which only
 * `get` returns. By layer: `tiles` are the records of `incarnations.ts`, `times` and `seeded-times` those of
 * `time-lists.ts`.
 */
type KeptKind = EntryKind | 'service' | 'tiles' | 'area' | 'area-points' | 'times' | 'seeded-times';

/** Dependents of a removed layer: tasks and schedules up to these ids. */
export interface PendingCleanup {
  readonly task: number;
  readonly schedule: number;
}

export interface CatalogEntry {
  readonly kind: KeptKind;
  readonly name: string;
  /** Null: it has been removed. */
  readonly document: unknown;
  readonly version: number;
  /** Not null: the layer was removed, and these may still be there. */
  readonly pendingCleanup: PendingCleanup | null;
  readonly changedBy: string;
}

interface EntryChange
  extends Pick<CatalogEntry, 'kind' | 'name' | 'document' | 'changedBy'>,
    Partial<Pick<CatalogEntry, 'pendingCleanup'>> {
  /** The expected current version; null: none; undefined: any. */
  readonly expected?: number | null;
}

/** Transactions of all processes run one after another. */
export interface EntryTransaction {
  readonly query: Statements;
  get(kind: KeptKind, name: string): Promise<CatalogEntry | null>;
  /** Whether an entry of these kinds has changed since a version. */
  hasChanged(kinds: readonly KeptKind[], since: number): Promise<boolean>;
  /** Throws `entry-changed` if the current version is not the expected one. */
  put(change: EntryChange): Promise<CatalogEntry>;
  /** A new number, greater than those before. Random low bits make the same number in another database unlikely. */
  fresh(): Promise<number>;
}

/** The range of the random part of `fresh`: databases would otherwise give out the same numbers, from 1. */
const SPREAD = 2 ** 20;

export type CatalogEntries = ReturnType<typeof createCatalogEntries>;

/** The catalog's part of the database: layers and grid sets declared over HTTP, and the other kinds above. */
export function createCatalogEntries(
  database: Database,
  clock: Pick<Clock, 'now'>,
  random: Random = systemRandom,
) {
  const rows = () =>
    database.query.selectFrom('catalog_entries').selectAll().where('kind', '!=', 'area-points');
  const transaction = <Result>(work: (inside: EntryTransaction) => Promise<Result>): Promise<Result> =>
    database.transaction('catalog', (query) =>
      work({
        query,
        async get(kind, name) {
          const row = await entryRow(query, kind, name);
          return row ? readEntry(row) : null;
        },
        async hasChanged(kinds, since) {
          const later = query.selectFrom('catalog_entries').select('name').where('kind', 'in', kinds);
          return (await later.where('version', '>', since).limit(1).executeTakeFirst()) !== undefined;
        },
        async put(change) {
          const former = await entryRow(query, change.kind, change.name);
          checkExpected(former, change.expected);
          const after = rowAfter(change, await raise(query, 'catalog'), clock.now());
          // `drops` is the pending cleanup: the node that removed the layer may have died before it was done.
          const row = { ...after, drops: after.drops ?? former?.drops ?? null };
          await query
            .insertInto('catalog_entries')
            .values(row)
            .onConflict((conflict) => conflict.columns(['kind', 'name']).doUpdateSet(row))
            .execute();
          return readEntry(row);
        },
        fresh: async () => (await raise(query, 'catalog')) * SPREAD + Math.floor(random() * SPREAD),
      }),
    );
  return {
    transaction,
    async get(kind: KeptKind, name: string): Promise<CatalogEntry | null> {
      const row = await entryRow(database.query, kind, name);
      return row ? readEntry(row) : null;
    },
    /** Changes after a version, oldest first, removals included. */
    async after(version: number, limit: number): Promise<readonly CatalogEntry[]> {
      const changed = rows().where('version', '>', version).orderBy('version').limit(limit);
      return (await changed.execute()).map(readEntry);
    },
    put: (change: EntryChange): Promise<CatalogEntry> => transaction(({ put }) => put(change)),
    /** Adds missing entries; existing ones stay as they are. Returns the names of those added. */
    async addAll(changes: readonly EntryChange[]): Promise<ReadonlySet<string>> {
      const added = new Set<string>();
      await database.transaction('catalog', async (query) => {
        for (let at = 0; at < changes.length; at += ROWS_AT_ONCE) {
          const some = changes.slice(at, at + ROWS_AT_ONCE);
          const first = (await raise(query, 'catalog', some.length)) - some.length + 1;
          const rows = await query
            .insertInto('catalog_entries')
            .values(some.map((change, i) => rowAfter(change, first + i, clock.now())))
            .onConflict((conflict) => conflict.columns(['kind', 'name']).doNothing())
            .returning('name')
            .execute();
          for (const { name } of rows) added.add(name);
        }
      });
      return added;
    },
    /** Deletes the row and leaves no version, so `after` never reports it. */
    async remove(kind: 'area-points', name: string): Promise<void> {
      await database.change
        .deleteFrom('catalog_entries')
        .where('kind', '=', kind)
        .where('name', '=', name)
        .execute();
    },
    /** Entries whose document has `transient: true`: they last only until the server stops. */
    async transient(): Promise<readonly CatalogEntry[]> {
      const maybe = await rows().where('document', 'like', '%"transient":true%').execute();
      return maybe.map(readEntry).filter(({ document }) => isRecord(document) && document.transient === true);
    },
    /** Entries of removed layers that may have left data. */
    async unfinished(): Promise<readonly CatalogEntry[]> {
      return (await rows().where('drops', 'is not', null).execute()).map(readEntry);
    },
    /** The layer's other data is removed: deletes its `pendingCleanup`, unless the entry has changed since. */
    async cleared({ kind, name, version }: Pick<CatalogEntry, 'kind' | 'name' | 'version'>): Promise<void> {
      await database.change
        .updateTable('catalog_entries')
        .set({ drops: null })
        .where('kind', '=', kind)
        .where('name', '=', name)
        .where('version', '=', version)
        .execute();
    },
  };
}

const ROWS_AT_ONCE = 500;

function rowAfter(
  { kind, name, document, pendingCleanup = null, changedBy }: EntryChange,
  version: number,
  now: number,
): RowOf<'catalog_entries'> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return {
    kind,
    name,
    document: json(document),
    version,
    drops: json(pendingCleanup),
    changed_by: changedBy,
    changed_at: now,
  };
}

function entryRow(query: Statements, kind: KeptKind, name: string) {
  return query
    .selectFrom('catalog_entries')
    .selectAll()
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst();
}

/** Throws `entry-changed`. */
export function checkExpected(
  there: Pick<RowOf<'catalog_entries'> | CatalogEntry, 'document' | 'version'> | null | undefined,
  expected: number | null | undefined,
): void {
  if (expected === undefined) return;
  const present = there && there.document !== null ? there.version : null;
  if (present === expected) return;
  throw new TilewardenError(
    'entry-changed',
    'Another request has changed it; read it again and repeat your change.',
  );
}

function readEntry(row: RowOf<'catalog_entries'>): CatalogEntry {
  return {
    kind: row.kind as KeptKind,
    name: row.name,
    document: row.document === null ? null : JSON.parse(row.document),
    version: row.version,
    pendingCleanup: row.drops === null ? null : JSON.parse(row.drops),
    changedBy: row.changed_by,
  };
}

/** The settings that can be changed over HTTP; `inspire` is in the file only. */
type GlobalService = Omit<ServiceDescription, 'inspire'>;

export type ServiceSettings = Awaited<ReturnType<typeof openServiceSettings>>;

const PLACE = { kind: 'service', name: 'global' } as const;

/** Service settings: those of the file, unless they were changed over HTTP. */
export async function openServiceSettings(
  entries: Pick<CatalogEntries, 'get' | 'put'>,
  fromFile: ServiceDescription,
  announce: () => Promise<void>,
) {
  let fileSettings = fromFile;
  const read = async (): Promise<ServiceDescription> => {
    const entry = await entries.get(PLACE.kind, PLACE.name);
    const stored = entry?.document as { readonly service: Partial<GlobalService> } | undefined;
    return { ...fileSettings, ...stored?.service };
  };
  let current = await read();
  return {
    /** Applies the file after it was read again. */
    async setFile(next: ServiceDescription): Promise<void> {
      fileSettings = next;
      current = await read();
    },
    async refresh(): Promise<void> {
      current = await read();
    },
    /** The same object until it is changed. */
    get current(): ServiceDescription {
      return current;
    },
    /** Durable, and announced, when it returns. */
    async change(change: GlobalService | undefined, by: string): Promise<void> {
      const { inspire: _, ...service } = { ...current, ...change };
      // In the form of GeoWebCache's `global` document.
      await entries.put({ ...PLACE, document: { service }, changedBy: by });
      current = await read();
      await announce();
    },
  };
}
