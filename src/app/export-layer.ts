import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
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
import { checkBody } from '../http/wire/read-body.ts';
import { AREA_FIELDS, type AreaFields, areaOf } from '../http/wire/values.ts';
import { messageKind } from '../lib/channel.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { coveredRects, createAreaCover, zoomGeometryOf } from '../tasks/area-cover.ts';
import { areaIn, boundsOfArea } from '../tasks/task-area.ts';
import { openCache } from './open-cache.ts';
import { whileOpen } from './opened.ts';

/** `area` as in the body of a task. */
export type AreaOrder = ExportOrder & AreaFields;
export type ExportWork = AreaOrder & Pick<ExportOptions, 'target'>;
type Watched = Pick<ExportOptions, 'signal' | 'onProgress'>;

/** To a task process, and what it tells meanwhile. */
export const EXPORT = messageKind<ExportWork, ExportResult>('export');
export const EXPORT_PROGRESS = messageKind<ExportProgress>('export-progress');

/** Throws what `exportedPart` throws, and `layer-unknown`. */
export function exportedLayer(catalog: Pick<Catalog, 'layer'>, order: AreaOrder) {
  const bound = catalog.layer(order.layer);
  if (!bound) throw new TilewardenError('layer-unknown', `There is no layer ${order.layer}.`);
  const { set, content } = exportedPart(bound.layer, order);
  const polygons = areaIn(content.subset.gridSet, areaOf(order));
  if (!polygons) return { store: bound.store, set, content, area: null };
  const bounds = intersectBounds(boundsOfArea(polygons), content.bounds);
  if (!bounds) throw invalid("The area lies outside the bounds or the layer's extent.");
  return { store: bound.store, set, content: { ...content, bounds }, area: coveredBy(polygons, content) };
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

export function exportFrom(
  catalog: Pick<Catalog, 'layer'>,
  work: ExportWork & Watched,
): Promise<ExportResult> {
  return exportTiles({ ...work, ...exportedLayer(catalog, work) });
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
