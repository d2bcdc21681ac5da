import { createHash } from 'node:crypto';
import type { AreaCover } from '../domain/area-cover.ts';
import { coordsOf } from '../domain/bounds.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { UnavailableError } from '../lib/unavailable-error.ts';
import type { ResolvedTileSet } from '../pipeline/tile-pipeline.ts';
import type { ExportFigures, Lease } from './store/lease.ts';
import type { ArchiveOrder, TaskRequest } from './task.ts';

export interface ExportWork {
  readonly lease: Lease;
  readonly tiles: ResolvedTileSet;
  readonly cover: AreaCover | null;
  readonly signal: AbortSignal;
  readonly onProgress: (figures: ExportFigures) => void;
}

/** A store that fails, or the database that lists its tiles. */
export function isStoreAway(error: unknown): error is Error {
  return error instanceof UnavailableError || isTilewardenError(error, 'store-failed');
}

/** Scripts keep the ids: the same order has had the same one since exports exist. */
export function exportIdOf(request: TaskRequest, order: ArchiveOrder): string {
  const { layer, gridSet, format, zoomStart, zoomStop, bounds } = request;
  const { type, parameters, ...area } = order;
  const names = { layer, type, gridSet, format, parameters };
  const ordered = { ...names, zoomStart, zoomStop, bounds: coordsOf(bounds), ...area };
  return createHash('sha256').update(JSON.stringify(ordered)).digest('hex').slice(0, 16);
}
