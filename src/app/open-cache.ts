import { type Catalog, openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { createDocumentReader } from '../config/document-reader.ts';
import type { SourceSettings } from '../config/driver-schemas.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/open-database.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { metatileSizeFor } from '../pipeline/resolve-tile-set.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { databaseOf } from './open-road.ts';
import { openStores, withoutCaches } from './open-stores.ts';

export interface OpenCache {
  readonly database: Database;
  readonly catalog: Catalog;
  readonly stores: ReadonlyMap<string, TileStore>;
}

/** Sources whose tiles are ready-made, one by one. */
const SINGLE_TILES: readonly SourceSettings['type'][] = ['archive', 'wmts', 'xyz'];

/** What is cached and declared, for commands that ask no source. A server may run on the data folder or not. */
export async function openCache(
  settings: Settings,
  tools: Surroundings & { readonly readOnly: boolean },
  open: ClosingStack,
): Promise<OpenCache> {
  const { log, clock, readOnly } = tools;
  const database = open.use(await openDatabase({ location: databaseOf(settings), clock, log }));
  const stores = await openStores(
    { ...settings, stores: withoutCaches(settings.stores) },
    {
      ...{ log, clock, database, readOnly, sweeps: () => false },
      shapeOf: (set) => metatileSizeFor(catalog.layer(set.layer), set),
    },
    open,
  );
  const { layers, gridSets } = settings;
  const openSource = ({ type }: SourceSettings) => ({
    maxMetatile: SINGLE_TILES.includes(type) ? { columns: 1, rows: 1 } : null,
    fetch: async (): Promise<never> => {
      throw new TilewardenError('source-unavailable', 'This command asks no source.');
    },
    async close() {},
  });
  const catalog = open.use(openCatalog({ layers, gridSets, stores, openSource, clock, log }));
  const entries = createCatalogEntries(database, clock);
  const reader = createDocumentReader(settings);
  await new DeclaredEntries({ entries, catalog, reader, log }).refresh();
  return { database, catalog, stores };
}
