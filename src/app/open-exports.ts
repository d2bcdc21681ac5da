import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Database } from '../db/database.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { writerFor } from '../export/export-tiles.ts';
import { createFolderFiles } from '../export/folder-files.ts';
import type { ExportDocument, Exports } from '../http/api/exports.ts';
import { createChannel } from '../lib/channel.ts';
import { isoTime } from '../lib/clock.ts';
import { OutOfReach } from '../lib/out-of-reach.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { withoutAbsent } from '../lib/without-absent.ts';
import { type BookedExport, createExportBook, EXPORT_LEASE, type ExportState } from '../nodes/export-book.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { exportedLayer, filesOf, keepExport } from './export-layer.ts';
import { EXPORT, EXPORT_PROGRESS } from './export-messages.ts';

interface ExportsOptions extends Surroundings {
  /** Holds files that are being made, and those that no store keeps. */
  readonly folder: string;
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer' | 'stores'>;
  /** Whether other nodes perform exports too. */
  readonly shared: boolean;
  /** The name of this node. */
  readonly node: string;
  /** Starts a task process; null: this one does it. */
  readonly fork: (() => ChildProcess) | null;
}

type What = Omit<ExportDocument, 'id' | keyof ExportState>;

interface Job {
  readonly row: BookedExport<What>;
  progress: ExportState;
  readonly stop: AbortController;
  /** When it may be taken over, by the monotonic clock. */
  until: number;
}

/** Milliseconds between looks for exports to perform, and between reports of the one that is performed. */
const LOOK_INTERVAL = 5000;
const BEAT_INTERVAL = 1000;
/** Milliseconds before another try: when the store is away, and when this node stops. */
const RETRY_PAUSE = 10_000;
const AT_ONCE = -1;
/** Milliseconds between looks at files that a crash has left. */
const TIDY_INTERVAL = 3_600_000;

/** One export after the other on each node. What a stop interrupts goes on here or elsewhere. */
export async function openExports(options: ExportsOptions): Promise<Exports & { close(): Promise<void> }> {
  const { folder, database, catalog, shared, node, fork, clock, log } = options;
  await mkdir(folder, { recursive: true });
  const book = createExportBook<What>(database);
  if (!shared) await book.freeAll();
  let tidyAt = clock.monotonic();
  let current: { readonly id: string; readonly job: Job; readonly over: Promise<void> } | null = null;

  /** Removes files that no row names: looked for first, so that a file is never younger than what names it. */
  async function tidy(): Promise<void> {
    tidyAt = clock.monotonic() + TIDY_INTERVAL;
    const stores = [...catalog.stores().values()].flatMap(({ files }) => files ?? []);
    for (const files of [createFolderFiles(folder), ...stores]) {
      const names = (await files.names()).filter((name) => /^\d+\./.test(name));
      const known = new Set((await book.list()).flatMap(numbersOf));
      const unknown = names.filter((name) => !known.has(Number.parseInt(name, 10)));
      if (unknown.length > 0) await files.remove(unknown);
    }
  }

  const tidyUp = () =>
    tidy().catch((err: unknown) => log.warn({ err }, 'files of former exports could not be removed yet'));

  async function work(signal: AbortSignal): Promise<void> {
    if (clock.monotonic() >= tidyAt) await tidyUp();
    for (let row = await book.take(); row; row = signal.aborted ? null : await book.take()) {
      const until = clock.monotonic() + EXPORT_LEASE;
      const job = { row, progress: row.progress, stop: new AbortController(), until };
      const over = perform(job, signal);
      current = { id: row.id, job, over };
      await over.finally(() => {
        current = null;
      });
    }
  }

  async function perform(job: Job, closing: AbortSignal): Promise<void> {
    const beats = openRepeater(() => beat(job), {
      pause: BEAT_INTERVAL,
      clock,
      log,
      level: 'debug',
      failure: 'an export could not be reported',
    });
    await tidyUp();
    const failure = await exported(job, AbortSignal.any([job.stop.signal, closing])).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    await beats.close();
    if (!failure) await end(job, { state: 'done', endedAt: now() }, null);
    else if (closing.aborted) await book.note(job.row, { ...job.progress, state: 'pending' }, AT_ONCE);
    else await giveUp(job, failure.error);
    await tidyUp();
  }

  /** Aborts what is another's by now, or could be, because the database has not been reached for so long. */
  async function beat(job: Job): Promise<void> {
    const since = clock.monotonic();
    const held = await book.note(job.row, job.progress, EXPORT_LEASE).catch((error: unknown) => {
      if (clock.monotonic() < job.until) throw error;
      return false;
    });
    if (!held) job.stop.abort(lost());
    job.until = since + EXPORT_LEASE;
    await stopIfFull(job, catalog.layer(job.row.what.layer)?.store);
  }

  async function giveUp(job: Job, error: unknown): Promise<void> {
    if (isTilewardenError(error, 'lease-lost')) return;
    const about = { err: error, export: job.row.id };
    const where = shared && isTilewardenError(error, 'store-full') ? `Node ${node}: ` : '';
    const known = isTilewardenError(error) || error instanceof OutOfReach;
    const reason = known ? `${where}${error.message}` : 'An unexpected failure; see the log of the server.';
    if (error instanceof OutOfReach || (shared && isTilewardenError(error, 'store-failed'))) {
      log.warn(about, 'an export waits because its store or the database fails');
      return end(job, { state: 'pending', reason }, RETRY_PAUSE);
    }
    if (!known) log.error(about, 'an export failed');
    return end(job, { state: 'failed', reason, endedAt: now() }, null);
  }

  /** As long as nobody else can have taken it: hours of work are not lost with a database that is away for seconds. */
  async function end(job: Job, last: Partial<ExportState>, free: number | null): Promise<void> {
    for (;;) {
      try {
        await book.note(job.row, { ...job.progress, ...last }, free);
        return;
      } catch (error) {
        if (clock.monotonic() > job.until) throw error;
        await clock.sleep(BEAT_INTERVAL);
      }
    }
  }

  /** Resolves when nothing writes any more. */
  async function exported(job: Job, signal: AbortSignal): Promise<void> {
    const { run, token, store, what } = job.row;
    const target = join(folder, `${run}.${what.type}`);
    const kept = { store, name: `${token}.${what.type}`, bytes: job.progress.bytes };
    const order = { ...what, ...kept, target };
    const onProgress = (progress: Partial<ExportState>) => {
      job.progress = { ...job.progress, ...progress };
    };
    if (!fork) return keepExport(catalog, { ...order, signal, onProgress });
    const child = fork();
    const gone = once(child, 'exit');
    const channel = createChannel(child, errorCopier);
    channel.handle(EXPORT_PROGRESS, onProgress);
    try {
      await channel.ask(EXPORT, order, signal);
    } finally {
      child.kill('SIGKILL');
      await gone;
    }
  }

  const now = () => isoTime(clock.now());
  const failure = 'waiting exports could not be read';
  const loop = openRepeater(work, { pause: LOOK_INTERVAL, clock, log, level: 'debug', failure });
  const deafen = book.listen(() => loop.wake());

  return {
    list: async () => (await book.list()).map(documentOf),

    async find(id) {
      const row = (await book.list()).find((one) => one.id === id);
      if (!row) return null;
      const { store, token, what } = row;
      return {
        document: documentOf(row),
        read: (start, end) => filesOf(catalog, store, folder).read(`${token}.${what.type}`, start, end),
      };
    },

    async start({ type, ...order }, { name: createdBy, unlimited }) {
      const { set, content, storeName } = exportedLayer(catalog, order);
      writerFor(join(folder, `export.${type}`), content);
      const { layer, gridSet, format } = set;
      const { zoomStart, zoomStop } = content;
      const { minX, minY, maxX, maxY } = content.bounds;
      const bounds: ExportDocument['bounds'] = [minX, minY, maxX, maxY];
      const { parameters = {}, area, areaCrs } = order;
      const place = { zoomStart, zoomStop, bounds, ...withoutAbsent({ area, areaCrs }) };
      const what = { layer, type, gridSet, format, parameters, ...place };
      const id = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 16);
      const limited = unlimited ? null : { createdBy };
      return documentOf(await book.add(id, storeName, { ...what, createdBy, createdAt: now() }, limited));
    },

    async remove(id) {
      await book.remove(id);
      if (current?.id === id) {
        current.job.stop.abort(lost());
        await current.over;
      }
      await tidyUp();
    },

    async close() {
      deafen();
      await loop.close();
    },
  };
}

function lost(): TilewardenError {
  return new TilewardenError('lease-lost', 'The export was deleted or taken over by another node.');
}

function documentOf({ id, what, progress }: BookedExport<What>): ExportDocument {
  return { id, ...what, ...progress };
}

/** What the names of its files begin with: the run while they are made, then the token of whoever made them. */
function numbersOf({ run, token, progress }: BookedExport<What>): readonly (number | null)[] {
  if (progress.state === 'failed') return [];
  return progress.state === 'done' ? [token] : [run, token];
}

async function stopIfFull({ stop }: Job, store?: Pick<TileStore, 'room'>): Promise<void> {
  const room = await store?.room?.();
  if (room?.storing !== false) return;
  const full = `The disk of ${room.folder} is full: minFreePercent keeps ${room.minFreePercent} % free.`;
  stop.abort(new TilewardenError('store-full', full));
}
