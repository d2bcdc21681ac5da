import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { vectorLayersOf } from '../catalog/vector-layers.ts';
import type { Database } from '../db/database.ts';
import { type AreaCover, coveredRects } from '../domain/area-cover.ts';
import { coordsOf } from '../domain/bounds.ts';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { tileRangeOf } from '../domain/grid-subset.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { ExportOptions } from '../export/export-tiles.ts';
import { createFolderFiles } from '../export/staging.ts';
import { isNoRoom, UnavailableError } from '../lib/error-code.ts';
import type { Logger } from '../lib/logger.ts';
import type { ResolvedTileSet } from '../pipeline/tile-pipeline.ts';
import { tilesSince } from '../storage/read-tiles.ts';
import type { Store, StoreFiles } from '../storage/store.ts';
import { exportFiles } from './store/export-tasks.ts';
import type { ExportFigures, Lease } from './store/lease.ts';
import type { ArchiveOrder, TaskRequest } from './task.ts';

interface ExporterOptions {
  /** The data folder: files are below it. */
  readonly data: string;
  /** The node's name for messages; null: there are no others. */
  readonly node: string | null;
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'stores'>;
  readonly log: Logger;
}

export type Exporter = ReturnType<typeof createExporter>;

/** Loaded on first use: it imports the writers of all file types. */
const loadWriters = () => import('../export/export-tiles.ts');

/** Names of exported files, with the id of the task. */
const FILE_NAMES = /^task-(\d+)[-.]/;

/** Exports of a node; docs/decisions/0290 has the names of their files. */
export function createExporter({ data, node, database, catalog, log }: ExporterOptions) {
  const folder = join(data, 'exports');
  mkdirSync(folder, { recursive: true });
  const own = createFolderFiles(folder);
  const filesOf = (store: string): StoreFiles => catalog.stores().get(store)?.files ?? own;

  /** Lists the files before the rows: a file is never younger than the row that has its name. */
  async function removeUnused(): Promise<void> {
    const shared = [...catalog.stores().values()].flatMap(({ files }) => files ?? []);
    for (const files of [own, ...shared]) {
      const names = (await files.names()).filter((name) => FILE_NAMES.test(name));
      const used = await exportFiles(database);
      const isUsed = (name: string) =>
        used.names.has(name) || used.tasks.has(Number(FILE_NAMES.exec(name)?.[1]));
      const unused = names.filter((name) => !isUsed(name));
      if (unused.length > 0) await files.remove(unused);
    }
  }

  const tidy = () =>
    removeUnused().catch((err: unknown) => log.warn({ err }, 'files of former exports could not be removed'));

  async function removeStaging(taskId: number): Promise<void> {
    const names = await own.names();
    await own.remove(names.filter((name) => name.startsWith(`task-${taskId}.`)));
  }

  async function keep(work: ExportWork, { type, store }: { type: string; store: string }): Promise<void> {
    const { lease, onProgress, signal } = work;
    const target = join(folder, `task-${lease.taskId}.${type}`);
    const figures = await wholeFile(target, work);
    onProgress({ ...figures, file: null });
    const file = `task-${lease.taskId}-${lease.token}.${type}`;
    await filesOf(store).put(file, target, signal);
    await rm(doneMark(target), { force: true });
    onProgress({ ...figures, file });
  }

  return {
    /** Throws `request-invalid` when such a file cannot hold the tiles, and `entry-changed`. */
    async refuseUnfit(
      type: ArchiveOrder['type'],
      request: TaskRequest,
      tiles: ResolvedTileSet,
    ): Promise<void> {
      const { writerFor } = await loadWriters();
      writerFor(join(folder, `export.${type}`), exportPart(tiles, request, null).content);
    },

    /** Copies cached tiles into a file that is kept for downloads; continues an interrupted attempt. */
    async perform(work: ExportWork): Promise<void> {
      const { lease, signal } = work;
      if (!lease.request.archive) throw new Error(`Task ${lease.taskId} names no archive.`);
      await tidy();
      try {
        await keep(work, lease.request.archive);
      } catch (error) {
        if (!signal.aborted && !isStoreAway(error)) await removeStaging(lease.taskId);
        throw isTilewardenError(error, 'store-full') ? withNode(error, node) : error;
      } finally {
        await tidy();
      }
    },

    /** Both positions are included; null: the file is gone. */
    read: (store: string, name: string, start: number, end: number) => filesOf(store).read(name, start, end),
    /** Removes files of exports that are no longer listed. */
    tidy,
  };
}

/** The path of the figures of a complete file that is not in its store yet. */
function doneMark(target: string): string {
  return `${target}.done`;
}

type WholeFile = Omit<ExportFigures, 'file'>;

/** The file of an earlier attempt, unless its tiles may have been truncated since. */
async function wholeFile(
  target: string,
  { lease, tiles, cover, signal, onProgress }: ExportWork,
): Promise<WholeFile> {
  const part = exportPart(tiles, lease.request, cover);
  const { zoomStart, zoomStop, bounds } = lease.request;
  const { levels } = tileRangeOf(tiles.subset, zoomStart, zoomStop, bounds);
  const since = await tilesSince(part.store, part.set, levels);
  const { size } = await stat(target).catch(() => ({ size: -1 }));
  const done: { readonly since: string; readonly figures: WholeFile } | null = await readFile(
    doneMark(target),
    'utf8',
  )
    .then(JSON.parse)
    .catch(() => null);
  if (done?.since === since && done.figures.bytes === size) return done.figures;
  await rm(target, { force: true });
  const admit = () => refuseIfFull(part.store);
  const written = await exportTo(target, tiles, {
    ...part,
    signal,
    admit,
    onProgress: (progress) => onProgress({ ...progress, bytes: null, file: null }),
  });
  const figures = { tiles: written.tiles, expected: written.tiles, bytes: written.bytes };
  await writeFile(doneMark(target), JSON.stringify({ since, figures }));
  return figures;
}

/** Throws `entry-changed` while the layer is being changed. */
export function exportPart(
  { bound, subset, format, set, bypass }: ResolvedTileSet,
  { zoomStart, zoomStop, bounds, area }: TaskRequest,
  cover: AreaCover | null,
) {
  if (bypass)
    throw new TilewardenError('entry-changed', `Layer ${set.layer} is being changed; repeat the request.`);
  const content = { layer: bound.layer, subset, format, zoomStart, zoomStop, bounds };
  const covered = area &&
    cover && { polygons: area, touched: (z: number, rect: TileRect) => coveredRects(cover, z, rect) };
  return { store: bound.store, set, content, area: covered };
}

export async function exportTo(
  target: string,
  { bound, format }: ResolvedTileSet,
  options: Omit<ExportOptions, 'target' | 'vectorLayers'>,
) {
  try {
    const vectorLayers = format.kind === 'opaque' ? await vectorLayersOf(bound, options.signal) : [];
    const { exportTiles } = await loadWriters();
    return await exportTiles({ ...options, target, vectorLayers });
  } catch (cause) {
    if (!isNoRoom(cause)) throw cause;
    const full = `The disk of ${dirname(target)} is full: there is not enough space for the file.`;
    throw new TilewardenError('store-full', full, { cause });
  }
}

async function refuseIfFull(store: Pick<Store, 'room'>): Promise<void> {
  const room = await store.room?.();
  if (room?.storing !== false) return;
  const full = `The disk of ${room.folder} is full: minFreePercent keeps ${room.minFreePercent} % free.`;
  throw new TilewardenError('store-full', full);
}

function withNode(cause: TilewardenError, node: string | null): TilewardenError {
  return node === null
    ? cause
    : new TilewardenError('store-full', `Node ${node}: ${cause.message}`, { cause });
}

export interface ExportWork {
  readonly lease: Lease;
  readonly tiles: ResolvedTileSet;
  readonly cover: AreaCover | null;
  readonly signal: AbortSignal;
  readonly onProgress: (figures: ExportFigures) => void;
}

/** Whether a store failed, or the database that lists its tiles. */
export function isStoreAway(error: unknown): error is Error {
  return error instanceof UnavailableError || isTilewardenError(error, 'store-failed');
}

/** Scripts keep the ids: the same order must always have the same id. */
export function exportIdOf(request: TaskRequest, order: ArchiveOrder): string {
  const { layer, gridSet, format, zoomStart, zoomStop, bounds } = request;
  const { type, parameters, ...area } = order;
  const names = { layer, type, gridSet, format, parameters };
  const ordered = { ...names, zoomStart, zoomStop, bounds: coordsOf(bounds), ...area };
  return createHash('sha256').update(JSON.stringify(ordered)).digest('hex').slice(0, 16);
}
