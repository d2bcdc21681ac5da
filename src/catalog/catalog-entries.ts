import type { Database, Statements } from '../db/database.ts';
import { raise } from '../db/numbers.ts';
import type { RowOf } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';
import { DEFAULT_SERVICE, type ServiceDescription } from '../domain/service-description.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { messageKind } from '../lib/channel.ts';
import type { Clock } from '../lib/clock.ts';
import { isRecord } from '../lib/value-path.ts';

export type EntryKind = 'layer' | 'grid-set';
/** There is one of the last kind, see `service-settings.ts`. */
type KeptKind = EntryKind | 'service';

/** A tile set whose tiles a change has made wrong; null stands for all that the layer has. */
export interface Drop {
  readonly layer: string;
  readonly set: TileSetKey | null;
  /** They stay, and each is renewed before it is shown. */
  readonly stale?: boolean;
}

export interface CatalogEntry {
  readonly kind: KeptKind;
  readonly name: string;
  /** Null: it has been removed. */
  readonly document: unknown;
  readonly aside: unknown;
  readonly version: number;
  readonly drops: readonly Drop[];
  readonly changedBy: string;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

interface EntryChange
  extends Pick<CatalogEntry, 'kind' | 'name' | 'document' | 'aside' | 'drops' | 'changedBy'> {
  /** What the caller believes to be there; null: nothing; undefined: whatever is there. */
  readonly expected?: number | null;
}

export type CatalogEntries = ReturnType<typeof createCatalogEntries>;

/** Layers and grid sets that were declared over the network, durable. */
export function createCatalogEntries(database: Database, clock: Pick<Clock, 'now'>) {
  const rows = () => database.query.selectFrom('catalog_entries').selectAll();
  return {
    async get(kind: KeptKind, name: string): Promise<CatalogEntry | null> {
      const row = await rowOf(database.query, kind, name);
      return row ? entryOf(row) : null;
    },
    /** What has changed after a version, oldest first; removed ones too. */
    async after(version: number, limit: number): Promise<readonly CatalogEntry[]> {
      const changed = rows().where('version', '>', version).orderBy('version').limit(limit);
      return (await changed.execute()).map(entryOf);
    },
    /** Throws `entry-changed` when what is there is not what was expected. */
    async put(change: EntryChange): Promise<CatalogEntry> {
      const { kind, name, document, aside, drops, changedBy } = change;
      return await database.transaction('catalog', async (query) => {
        const there = await rowOf(query, kind, name);
        checkExpected(there, change.expected);
        const row = {
          kind,
          name,
          document: document === null ? null : JSON.stringify(document),
          aside: aside === null ? null : JSON.stringify(aside),
          version: await raise(query, 'catalog'),
          drops: drops.length === 0 ? null : JSON.stringify(drops),
          changed_by: changedBy,
          changed_at: clock.now(),
        };
        await query
          .insertInto('catalog_entries')
          .values(row)
          .onConflict((conflict) => conflict.columns(['kind', 'name']).doUpdateSet(row))
          .execute();
        return entryOf(row);
      });
    },
    /** Those that are not to outlive the server. */
    async transient(): Promise<readonly CatalogEntry[]> {
      const maybe = await rows().where('document', 'like', '%"transient":true%').execute();
      return maybe.map(entryOf).filter(({ document }) => isRecord(document) && document.transient === true);
    },
    /** Those whose wrong tiles may still be there. */
    async unfinished(): Promise<readonly CatalogEntry[]> {
      return (await rows().where('drops', 'is not', null).execute()).map(entryOf);
    },
    async dropped({ kind, name, version }: Pick<CatalogEntry, 'kind' | 'name' | 'version'>): Promise<void> {
      await database.transaction('catalog', async (query) => {
        await query
          .updateTable('catalog_entries')
          .set({ drops: null })
          .where('kind', '=', kind)
          .where('name', '=', name)
          .where('version', '=', version)
          .execute();
      });
    },
  };
}

function rowOf(query: Statements, kind: KeptKind, name: string) {
  return query
    .selectFrom('catalog_entries')
    .selectAll()
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst();
}

function checkExpected(
  there: RowOf<'catalog_entries'> | undefined,
  expected: number | null | undefined,
): void {
  if (expected === undefined) return;
  const present = there && there.document !== null ? there.version : null;
  if (present === expected) return;
  throw new TilewardenError(
    'entry-changed',
    'It has been changed meanwhile; read it again and repeat your change.',
  );
}

function entryOf(row: RowOf<'catalog_entries'>): CatalogEntry {
  return {
    kind: row.kind as KeptKind,
    name: row.name,
    document: row.document === null ? null : JSON.parse(row.document),
    aside: row.aside === null ? null : JSON.parse(row.aside),
    version: row.version,
    drops: row.drops === null ? [] : JSON.parse(row.drops),
    changedBy: row.changed_by,
    changedAt: row.changed_at,
  };
}

/**
 * From the server to its processes: something has been declared, changed or removed. With the settings as plain data when
 * the configuration file was read again; null otherwise.
 */
export const CATALOG_CHANGED = messageKind<unknown>('catalog-changed');
/** From a process without a database: what has changed after a version. */
export const CATALOG_NEWS = messageKind<
  { readonly version: number; readonly limit: number },
  readonly CatalogEntry[]
>('catalog-news');

/** What GeoWebCache calls global. */
interface ServiceDocument {
  readonly service: ServiceDescription;
  /** Settings of GeoWebCache's that mean nothing here and are only given back, by name. */
  readonly remembered: Readonly<Record<string, string | number | boolean>>;
}

export type ServiceSettings = Awaited<ReturnType<typeof openServiceSettings>>;

const PLACE = { kind: 'service', name: 'global' } as const;

export async function openServiceSettings(entries: Pick<CatalogEntries, 'get' | 'put'>) {
  const read = async () => documentOf((await entries.get(PLACE.kind, PLACE.name))?.document);
  let current = await read();
  return {
    /** Takes up what another node has changed. */
    async refresh(): Promise<void> {
      current = await read();
    },
    /** The same object until it is changed. */
    get current(): ServiceDocument {
      return current;
    },
    /** Durable when it returns. */
    async change(change: Partial<ServiceDocument>, by: string): Promise<void> {
      const document = { ...current, ...change };
      await entries.put({ ...PLACE, document, aside: null, drops: [], changedBy: by });
      current = document;
    },
  };
}

function documentOf(kept: unknown): ServiceDocument {
  const { service = {}, remembered = {} } = isRecord(kept) ? (kept as Partial<ServiceDocument>) : {};
  return { service: { ...DEFAULT_SERVICE, ...service }, remembered };
}
