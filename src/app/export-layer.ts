import type { Settings } from '../config/settings.ts';
import { TilewardenError } from '../domain/errors.ts';
import { type ExportOrder, exportedPart } from '../export/export-order.ts';
import { type ExportOptions, type ExportResult, exportTiles } from '../export/export-tiles.ts';
import { ClosingStack } from '../lib/closing-stack.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { openCache } from './open-cache.ts';

/** Copies what is cached of a tile set into a file. A server may run on the data folder or not. */
export async function exportLayer(
  settings: Settings,
  order: ExportOrder & Pick<ExportOptions, 'target' | 'signal' | 'onProgress'>,
  tools: Surroundings,
): Promise<ExportResult> {
  const open = new ClosingStack();
  try {
    const { catalog } = await openCache(settings, { ...tools, readOnly: true }, open);
    const bound = catalog.layer(order.layer);
    if (!bound) throw new TilewardenError('layer-unknown', `There is no layer ${order.layer}.`);
    return await exportTiles({ ...order, store: bound.store, ...exportedPart(bound.layer, order) });
  } finally {
    await open.close();
  }
}
