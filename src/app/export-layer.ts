import { openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { createDocumentReader } from '../config/document-reader.ts';
import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import { TilewardenError } from '../domain/errors.ts';
import { type ExportOrder, exportedPart } from '../export/export-order.ts';
import { type ExportOptions, type ExportResult, exportTiles } from '../export/export-tiles.ts';
import type { Clock } from '../lib/clock.ts';
import { ClosingStack } from '../lib/closing-stack.ts';
import type { Logger } from '../lib/logger.ts';
import { databaseOf } from './open-road.ts';
import { openStores } from './open-stores.ts';

/** Copies what is cached of a tile set into a file. A server may run on the data folder or not. */
export async function exportLayer(
  settings: Settings,
  order: ExportOrder & Pick<ExportOptions, 'target' | 'signal' | 'onProgress'>,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): Promise<ExportResult> {
  const open = new ClosingStack();
  try {
    const database = open.use(await openDatabase({ location: databaseOf(settings), clock, log }));
    const stores = await openStores(settings, { log, clock, database, readOnly: true }, open);
    const { layers, gridSets } = settings;
    const openSource = (): never => {
      throw new TilewardenError('source-unavailable', 'An export asks no source.');
    };
    const catalog = open.use(openCatalog({ layers, gridSets, stores, openSource, clock, log }));
    const entries = createCatalogEntries(database, clock);
    const reader = createDocumentReader(settings);
    await new DeclaredEntries({ entries, catalog, reader, log }).refresh();
    const bound = catalog.layer(order.layer);
    if (!bound) throw new TilewardenError('layer-unknown', `There is no layer ${order.layer}.`);
    return await exportTiles({ ...order, store: bound.store, ...exportedPart(bound.layer, order) });
  } finally {
    await open.close();
  }
}
