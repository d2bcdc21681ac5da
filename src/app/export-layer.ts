import { rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { boundLayer, type Catalog, tileSetIn } from '../catalog/catalog.ts';
import { vectorLayersOf } from '../catalog/vector-layers.ts';
import type { Settings } from '../config/settings.ts';
import { intersectBounds, type Polygon } from '../domain/bounds.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import type { ArchiveContent } from '../export/archive-metadata.ts';
import { type ExportOrder, exportedPart } from '../export/export-order.ts';
import {
  type ExportArea,
  type ExportOptions,
  type ExportProgress,
  type ExportResult,
  exportTiles,
} from '../export/export-tiles.ts';
import { createFolderFiles } from '../export/folder-files.ts';
import { checkBody } from '../http/wire/read-body.ts';
import { AREA_FIELDS, areaOf } from '../http/wire/values.ts';
import { isNoRoom } from '../lib/error-code.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import type { StoreFiles } from '../storage/tile-store.ts';
import { coveredRects, createAreaCover, zoomGeometryOf } from '../tasks/area-cover.ts';
import { areaIn, boundsOfArea } from '../tasks/task-area.ts';
import type { AreaOrder, ExportWork, KeptExport, KeptProgress } from './export-messages.ts';
import { openCache } from './open-cache.ts';
import { whileOpen } from './opened.ts';

type Watched = Pick<ExportOptions, 'signal' | 'onProgress'>;

/** Throws what `exportedPart` throws, and `layer-unknown`. */
export function exportedLayer(catalog: Pick<Catalog, 'layer'>, order: AreaOrder) {
  const bound = boundLayer(catalog, order.layer);
  const { set: names, content } = exportedPart(bound.layer, order);
  const set = tileSetIn(bound, names);
  if (!set)
    throw new TilewardenError('entry-changed', `Layer ${order.layer} is being changed; repeat the request.`);
  const stored = { bound, store: bound.store, storeName: bound.declared?.store ?? '' };
  const polygons = areaIn(content.subset.gridSet, areaOf(order));
  if (!polygons) return { ...stored, set, content, area: null };
  const bounds = intersectBounds(boundsOfArea(polygons), content.bounds);
  if (!bounds) throw invalid("The area lies outside the bounds or the layer's extent.");
  return { ...stored, set, content: { ...content, bounds }, area: coveredBy(polygons, content) };
}

function coveredBy(
  polygons: readonly Polygon[],
  { subset, zoomStart, zoomStop }: ArchiveContent,
): ExportArea {
  const zooms = Array.from({ length: zoomStop - zoomStart + 1 }, (_, i) =>
    zoomGeometryOf(subset.gridSet, zoomStart + i),
  );
  const cover = createAreaCover(polygons, zooms);
  return { polygons, touched: (z, rect) => coveredRects(cover, z, rect) };
}

/** The last progress that it tells has the size of the file. */
export async function keepExport(
  catalog: Pick<Catalog, 'layer' | 'stores'>,
  {
    bytes: finished,
    name,
    store,
    signal,
    onProgress,
    ...work
  }: KeptExport & { readonly signal: AbortSignal; readonly onProgress: (progress: KeptProgress) => void },
): Promise<void> {
  const { target } = work;
  const there = await stat(target).catch(() => null);
  if (there === null || there.size !== finished) {
    await rm(target, { force: true });
    const watched = { signal, onProgress: (some: ExportProgress) => onProgress({ ...some, bytes: null }) };
    const { tiles, bytes } = await exportFrom(catalog, { ...work, ...watched });
    onProgress({ tiles, expected: tiles, bytes });
  }
  await filesOf(catalog, store, dirname(target)).put(name, target, signal);
}

export function filesOf(catalog: Pick<Catalog, 'stores'>, store: string, folder: string): StoreFiles {
  return catalog.stores().get(store)?.files ?? createFolderFiles(folder);
}

async function exportFrom(
  catalog: Pick<Catalog, 'layer'>,
  work: ExportWork & Watched,
): Promise<ExportResult> {
  try {
    const { bound, ...part } = exportedLayer(catalog, work);
    const isVector = part.content.format.kind === 'opaque';
    const vectorLayers = isVector ? await vectorLayersOf(bound, work.signal) : [];
    return await exportTiles({ ...work, ...part, vectorLayers });
  } catch (cause) {
    if (!isNoRoom(cause)) throw cause;
    const full = `The disk of ${dirname(work.target)} is full: there is not enough space for the file.`;
    throw new TilewardenError('store-full', full, { cause });
  }
}

/** Copies what is cached of a tile set into a file. A server may run on the data folder or not. `geoJson` is an area that nobody has looked at. */
export function exportLayer(
  settings: Settings,
  work: ExportOrder & Pick<ExportOptions, 'target'> & { readonly geoJson: object } & Watched,
  tools: Surroundings,
): Promise<ExportResult> {
  return whileOpen(async (open) => {
    const area = checkBody(work.geoJson, z.strictObject(AREA_FIELDS));
    const { catalog } = await openCache(settings, { ...tools, readOnly: true }, open);
    return exportFrom(catalog, { ...work, ...area });
  });
}
