import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { TilewardenError } from '../domain/errors.ts';
import { type ExportResult, writerFor } from '../export/export-tiles.ts';
import { type ExportDocument, type Exports, exportAnswer } from '../http/api/exports.ts';
import { createChannel } from '../lib/channel.ts';
import { isoTime } from '../lib/clock.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { withoutAbsent } from '../lib/without-absent.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { EXPORT, EXPORT_PROGRESS, exportedLayer, exportFrom } from './export-layer.ts';

interface ExportsOptions extends Surroundings {
  /** Holds the files, and beside each what it is. */
  readonly folder: string;
  readonly catalog: Pick<Catalog, 'layer'>;
  /** Starts a task process; null: this one does it. */
  readonly fork: (() => ChildProcess) | null;
}

interface Job {
  document: ExportDocument;
  readonly stop: AbortController;
  /** Never rejects. */
  over: Promise<void>;
}

const MOST = 20;
/** Milliseconds between looks at the disk. */
const LOOK_INTERVAL = 1000;

/** One export after the other. What a stop interrupts goes on at the next start. */
export async function openExports(options: ExportsOptions): Promise<Exports & { close(): Promise<void> }> {
  const { folder, catalog, fork, clock, log } = options;
  await mkdir(folder, { recursive: true });
  const jobs = new Map<string, Job>();
  const closing = new AbortController();
  let last: Promise<void> = Promise.resolve();
  const fileOf = ({ id, type }: ExportDocument) => join(folder, `${id}.${type}`);

  async function change(job: Job, changes: Partial<ExportDocument>): Promise<void> {
    job.document = { ...job.document, ...changes };
    const path = join(folder, `${job.document.id}.json`);
    await writeFile(`${path}.new`, JSON.stringify(job.document), { flush: true });
    await rename(`${path}.new`, path);
  }

  async function removeFiles({ id }: ExportDocument): Promise<void> {
    const names = (await readdir(folder)).filter((name) => name.startsWith(`${id}.`));
    await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
  }

  function enqueue(job: Job): void {
    last = last.then(() => perform(job)).catch((err: unknown) => log.error({ err }, 'an export broke off'));
    job.over = last;
  }

  function keep(document: ExportDocument): Job {
    const job = { document, stop: new AbortController(), over: Promise.resolve() };
    jobs.set(document.id, job);
    return job;
  }

  async function perform(job: Job): Promise<void> {
    const signal = AbortSignal.any([job.stop.signal, closing.signal]);
    if (signal.aborted) return;
    job.document = { ...job.document, state: 'running' };
    try {
      const { tiles, bytes } = await exported(job, signal);
      await change(job, { state: 'done', tiles, bytes, endedAt: now() });
    } catch (error) {
      if (closing.signal.aborted || jobs.get(job.document.id) !== job) return;
      const known = error instanceof TilewardenError;
      if (!known) log.error({ err: error, export: job.document.id }, 'an export failed');
      const reason = known ? error.message : 'An unexpected failure; see the log of the server.';
      await change(job, { state: 'failed', reason, endedAt: now() });
    }
  }

  /** Resolves when nothing writes any more. */
  async function exported(job: Job, signal: AbortSignal): Promise<ExportResult> {
    const work = { ...job.document, target: fileOf(job.document) };
    const { store } = exportedLayer(catalog, work);
    let lookedAt = clock.monotonic();
    const onProgress = (progress: Pick<ExportDocument, 'tiles' | 'expected'>) => {
      job.document = { ...job.document, ...progress };
      if (clock.monotonic() - lookedAt < LOOK_INTERVAL) return;
      lookedAt = clock.monotonic();
      void stopIfFull(job, store).catch((err: unknown) =>
        log.warn({ err }, 'the room on the disk is not known'),
      );
    };
    if (!fork) return exportFrom(catalog, { ...work, signal, onProgress });
    const child = fork();
    const gone = once(child, 'exit');
    const channel = createChannel(child, errorCopier);
    channel.handle(EXPORT_PROGRESS, onProgress);
    try {
      return await channel.ask(EXPORT, work, signal);
    } finally {
      child.kill('SIGKILL');
      await gone;
    }
  }

  const now = () => isoTime(clock.now());

  for (const name of await readdir(folder)) {
    if (!name.endsWith('.json')) continue;
    try {
      const job = keep(exportAnswer.parse(JSON.parse(await readFile(join(folder, name), 'utf8'))));
      if (job.document.state === 'pending') enqueue(job);
    } catch (err) {
      log.warn({ err, file: join(folder, name) }, 'this is not an export; remove it');
    }
  }

  return {
    list: () => [...jobs.values()].map(({ document }) => document),
    fileOf,

    async start({ type, ...order }, createdBy) {
      const { set, content } = exportedLayer(catalog, order);
      writerFor(`export.${type}`, content);
      const { layer, gridSet, format } = set;
      const { zoomStart, zoomStop } = content;
      const { minX, minY, maxX, maxY } = content.bounds;
      const bounds: ExportDocument['bounds'] = [minX, minY, maxX, maxY];
      const { parameters = {}, area, areaCrs } = order;
      const place = { zoomStart, zoomStop, bounds, ...withoutAbsent({ area, areaCrs }) };
      const what = { layer, type, gridSet, format, parameters, ...place };
      const id = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 16);
      const known = jobs.get(id);
      if (known && known.document.endedAt === null) return known.document;
      if (!known && jobs.size >= MOST) {
        throw new TilewardenError('entry-conflict', `There are ${MOST} exports already; delete one first.`);
      }
      const job = keep({
        ...{ ...what, id, state: 'pending', tiles: 0, expected: null, bytes: null, reason: null },
        ...{ createdBy, createdAt: now(), endedAt: null },
      });
      try {
        await removeFiles(job.document);
        await change(job, {});
      } catch (error) {
        jobs.delete(id);
        throw error;
      }
      if (job.stop.signal.aborted) await removeFiles(job.document);
      else enqueue(job);
      return job.document;
    },

    async remove(id) {
      const job = jobs.get(id);
      if (!job) return;
      jobs.delete(id);
      job.stop.abort();
      if (job.document.state === 'running') await job.over;
      await removeFiles(job.document);
    },

    async close() {
      closing.abort();
      await last;
    },
  };
}

async function stopIfFull({ stop }: Job, store: Pick<TileStore, 'room'>): Promise<void> {
  const room = await store.room?.();
  if (room?.storing !== false) return;
  const full = `The disk of ${room.folder} is full: minFreePercent keeps ${room.minFreePercent} % free.`;
  stop.abort(new TilewardenError('store-full', full));
}
