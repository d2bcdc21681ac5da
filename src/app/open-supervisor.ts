/**
 * Several processes on one port: each is a server of its own on the same database and data folder, and answers every
 * request. Their parent holds the locks and the listening socket, and replaces what ends.
 */
import type { ChildProcess } from 'node:child_process';
import type { App } from '../app.ts';
import { type LoadedSettings, withoutRestart } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { createProcessFeed } from '../db/process-feed.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { misconfigured } from '../domain/errors.ts';
import { readTlsFiles } from '../http/server.ts';
import { createChannel, messageKind } from '../lib/channel.ts';
import { type Child, ChildPool } from '../lib/child-pool.ts';
import { ifLate } from '../lib/clock.ts';
import { openDataFolder } from './data-folder.ts';
import { lockDatabase } from './join-nodes.ts';
import { processCount, urlOf } from './node-settings.ts';
import type { ServerEnv } from './open-node.ts';
import { opened } from './opened.ts';

export interface ServerOptions extends Omit<ServerEnv, 'supervisor'> {
  /** Starts one of several processes that answer on this port. `first`: after a start of the server. */
  readonly forkServer: (port: number, first: boolean) => ChildProcess;
}

/** From a process: it listens, or why it does not. */
export const STARTED = messageKind<{
  readonly problem: string | null;
  readonly initialPassword: App['initialPassword'];
}>('started');
/** From a process: another one does not respond. */
export const END_PROCESS = messageKind<{ readonly pid: number }>('end-process');
/** From a process: it has applied the configuration file, as all others. */
export const FILE_APPLIED = messageKind('file-applied');
/** From the parent: answers requests in flight, then ends. */
export const STOP_SERVING = messageKind('stop-serving');

/** Milliseconds. On a machine with far too much to do a sound process may need seconds to react. */
const STOP_TIMEOUT_MS = 8500;
const START_TIMEOUT_MS = 60_000;

export function openSupervisor(
  base: Settings,
  env: ServerOptions,
  count: number,
  port: number,
): Promise<App> {
  return opened(async (open) => {
    const { clock, random, log, file } = env;
    await openDataFolder(base.data, log, open);
    if (base.database !== null) open.use(await lockDatabase(base, base.database, { clock, log }));
    const feed = open.use(await createProcessFeed(base.data));
    let first = true;
    let initialPassword: App['initialPassword'] = null;

    const pool = new ChildPool({
      what: 'a process of the server',
      fork() {
        const child = env.forkServer(port, first);
        first = false;
        return { process: child, channel: createChannel(child, errorCopier) };
      },
      begin(child) {
        const { channel } = child;
        channel.handle(END_PROCESS, ({ pid }) => {
          pool.children.find((other) => other.process.pid === pid)?.process.kill('SIGKILL');
        });
        channel.handle(FILE_APPLIED, () => {
          if (file) file.taken(withoutRestart(file.current, file.load()).loaded);
        });
        return listening(child);
      },
      cleanUp: async ({ process: { pid = 0 } }) => feed.gone(pid),
      stop: STOP_SERVING,
      stopTimeoutMs: STOP_TIMEOUT_MS,
      clock,
      random,
      log,
    });

    /** Resolves when the process listens; throws when it cannot. */
    async function listening({ process: child, channel, gone }: Child): Promise<void> {
      let dead = 'A process of the server ended at its start.';
      const report = new Promise<string | null>((resolve) =>
        channel.handle(STARTED, (started) => {
          initialPassword ??= started.initialPassword;
          resolve(started.problem);
        }),
      );
      const late = () => {
        dead = 'A process of the server did not start in time.';
        child.kill('SIGKILL');
      };
      const problem = await ifLate(clock, START_TIMEOUT_MS, late, () =>
        Promise.race([report, gone.then(() => dead)]),
      );
      if (problem !== null) throw misconfigured(problem);
    }

    async function applySettings(loaded: LoadedSettings): Promise<void> {
      const before = file?.current ?? null;
      refuseMoving(before?.settings ?? base, loaded.settings);
      const { tls } = loaded.settings.server;
      if (tls) await readTlsFiles(tls);
      file?.taken(loaded);
      try {
        await pool.replaceAll();
      } catch (error) {
        if (before) file?.taken(before);
        throw error;
      }
    }

    open.use(pool);
    // The first one creates what is missing.
    await pool.add();
    await Promise.all(Array.from({ length: count - 1 }, () => pool.add()));
    let reloading: Promise<unknown> = Promise.resolve();
    open.use({ close: () => reloading });
    return {
      url: urlOf({ ...base.server, port }),
      initialPassword,
      applySettings(loaded: LoadedSettings) {
        const done = reloading.then(() => applySettings(loaded));
        reloading = done.catch(() => {});
        return done.then(() => []);
      },
    };
  });
}

/** Address and stores cannot change while the server runs. */
function refuseMoving(current: Settings, next: Settings): void {
  const moved =
    current.data !== next.data ||
    current.database !== next.database ||
    current.server.host !== next.server.host ||
    current.server.port !== next.server.port ||
    processCount(current) !== processCount(next);
  if (!moved) return;
  throw misconfigured(
    'server.host, server.port, server.processes, data and database change with a restart only.',
  );
}
