import type { ChildProcess } from 'node:child_process';
import { CATALOG_CHANGED, openServiceSettings } from '../catalog/catalog-entries.ts';
import { layersAbove } from '../catalog/tile-fates.ts';
import { createTileRecords } from '../catalog/tile-records.ts';
import type { SettingsHandover } from '../config/settings-handover.ts';
import type { ProcessFeed } from '../db/process-feed.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { createChannel } from '../lib/channel.ts';
import type { ForkedProcess } from '../lib/child-pool.ts';
import type { Clock } from '../lib/clock.ts';
import { addCountsOf } from '../pipeline/counter-feed.ts';
import { serveLimiter } from '../sources/upstream/limiter-channel.ts';
import type { NodeServices } from './open-node-services.ts';
import { CATALOG } from './share-changes.ts';

interface DeclarationParts {
  readonly clock: Clock;
  /** Null where there are no other processes that answer. */
  readonly feed: ProcessFeed | null;
  /** Undefined: tasks run in this process. */
  readonly forkWorker: (() => ChildProcess) | undefined;
}

export type Declarations = Awaited<ReturnType<typeof openDeclarations>>;

/** Declared layers and grid sets, kept in step among the processes of this node. */
export async function openDeclarations(services: NodeServices, parts: DeclarationParts) {
  const { catalog, events, documents } = services;
  const { clock, feed, forkWorker } = parts;
  const { entries, declared } = documents;
  const records = createTileRecords({ entries, catalog, clock });
  const redeclared = await records.declareAll();
  await declared.refresh();
  const workers = createWorkers(services);
  const service = await openServiceSettings(entries);

  /** Resolves when every process of this server has applied the change. */
  async function announce(): Promise<void> {
    await workers.announce(null);
    await feed?.ask(CATALOG);
  }

  /** With those that are drawn from them. */
  async function outdate(layers: readonly string[]): Promise<void> {
    const all = layers.length > 0 ? [...layers, ...(await layersAbove(catalog, layers))] : [];
    for (const layer of all) {
      events.emit({ type: 'outdated', layer, places: null, above: null, at: clock.now() });
    }
  }

  return {
    ...documents,
    reader: await documents.reader(),
    records,
    /** Layers that are not as they were when the server ended. */
    redeclared,
    service,
    ...(forkWorker && { forkWorker: () => workers.fork(forkWorker) }),
    announce,
    /** The workers of this process apply a file. */
    announceFile: (file: SettingsHandover) => workers.announce(file),
    outdate,
    /** Takes up what another node, or another process of this server, has declared. */
    async refresh(from: 'node' | 'process' = 'node'): Promise<void> {
      if (!(await declared.refresh())) return;
      await service.refresh();
      await (from === 'node' ? announce() : workers.announce(null));
    },
  };
}

/** Milliseconds until a worker that does not apply a change counts as hanging. */
const WORKER_TIMEOUT_MS = 10_000;

function createWorkers({ limiter, tallies }: Pick<NodeServices, 'limiter' | 'tallies'>) {
  const running = new Set<ForkedProcess>();
  return {
    fork(start: () => ChildProcess): ForkedProcess {
      const worker = start();
      const channel = createChannel(worker, errorCopier);
      serveLimiter(limiter, channel);
      addCountsOf(channel, tallies);
      const forked = { process: worker, channel };
      running.add(forked);
      channel.closed.addEventListener('abort', () => running.delete(forked));
      return forked;
    },
    /** One that does not answer in time is ended, and another takes its place. */
    async announce(file: SettingsHandover | null): Promise<void> {
      const tell = ({ process: worker, channel }: ForkedProcess) =>
        channel
          .ask(CATALOG_CHANGED, file, AbortSignal.timeout(WORKER_TIMEOUT_MS))
          .catch(() => void worker.kill('SIGKILL'));
      await Promise.all([...running].map(tell));
    },
  };
}
