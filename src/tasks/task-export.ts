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

export interface Exporter {
  /** Throws `request-invalid` when such a file cannot hold the tiles, and `entry-changed`. */
  refuseUnfit(type: ArchiveOrder['type'], request: TaskRequest, tiles: ResolvedTileSet): Promise<void>;
  /** Copies cached tiles into a file that is kept for downloads, and goes on with what an earlier attempt has left. */
  perform(work: ExportWork): Promise<void>;
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
