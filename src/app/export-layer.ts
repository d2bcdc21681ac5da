import type { Catalog } from '../catalog/catalog.ts';
import type { Settings } from '../config/settings.ts';
import { TilewardenError } from '../domain/errors.ts';
import { type ExportOrder, exportedPart } from '../export/export-order.ts';
import {
  type ExportOptions,
  type ExportProgress,
  type ExportResult,
  exportTiles,
} from '../export/export-tiles.ts';
import { messageKind } from '../lib/channel.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { openCache } from './open-cache.ts';
import { whileOpen } from './opened.ts';

export type ExportWork = ExportOrder & Pick<ExportOptions, 'target'>;
type Watched = Pick<ExportOptions, 'signal' | 'onProgress'>;

/** To a task process, and what it tells meanwhile. */
export const EXPORT = messageKind<ExportWork, ExportResult>('export');
export const EXPORT_PROGRESS = messageKind<ExportProgress>('export-progress');

/** Throws what `exportedPart` throws, and `layer-unknown`. */
export function exportedLayer(catalog: Pick<Catalog, 'layer'>, order: ExportOrder) {
  const bound = catalog.layer(order.layer);
  if (!bound) throw new TilewardenError('layer-unknown', `There is no layer ${order.layer}.`);
  return { store: bound.store, ...exportedPart(bound.layer, order) };
}

export function exportFrom(
  catalog: Pick<Catalog, 'layer'>,
  work: ExportWork & Watched,
): Promise<ExportResult> {
  return exportTiles({ ...work, ...exportedLayer(catalog, work) });
}

/** Copies what is cached of a tile set into a file. A server may run on the data folder or not. */
export function exportLayer(
  settings: Settings,
  work: ExportWork & Watched,
  tools: Surroundings,
): Promise<ExportResult> {
  return whileOpen(async (open) => {
    const { catalog } = await openCache(settings, { ...tools, readOnly: true }, open);
    return exportFrom(catalog, work);
  });
}
