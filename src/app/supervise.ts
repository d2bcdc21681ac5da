/**
 * Several processes on one port: each is a server of its own on the same database and data folder, and answers every
 * request. Their parent holds the locks and the listening socket, and replaces processes that end.
 */
import type { ChildProcess } from 'node:child_process';
import { type App, openApp } from '../app.ts';
import { type ReadSettings, type SettingsFile, servingSettingsFrom } from '../config/load-settings.ts';
import { processCount, urlOf } from '../config/node-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { misconfigured } from '../domain/errors.ts';
import { probeAddress, readTlsFiles } from '../http/server.ts';
import { type Channel, messageKind } from '../lib/channel.ts';
import { opened } from '../lib/closing-stack.ts';
import { typesOf } from '../storage/drivers.ts';
import { explainingDataFaults, openDataFolder } from './data-folder.ts';
import { lockDatabase } from './membership.ts';
import { openAreaThread } from './open-area-thread.ts';
import { newerSettings, openChild, openPool, openWorkers, type ServerEnv } from './parent.ts';

export interface ServerOptions extends Omit<ServerEnv, 'supervisor' | 'forkWorker'> {
  readonly file: SettingsFile;
  /** Starts one of several processes that answer on this port. `first`: it is the first since the server's start. */
  readonly forkServer: (port: number, first: boolean) => ChildProcess;
  readonly forkWorker: () => ChildProcess;
}

/** From a process: another one does not respond. */
const END_PROCESS = messageKind<{ readonly pid: number }>('end-process');
/** From a process: it has applied the configuration file; the others then request these settings. */
const FILE_APPLIED = messageKind<ReadSettings>('file-applied');
/** From a process: there are tasks. */
const START_WORKERS = messageKind('start-workers');

/** Milliseconds. On an overloaded machine a healthy process may need seconds to react. */
const STOP_TIMEOUT_MS = 8500;

export async function openServer(settings: Settings, env: ServerOptions): Promise<App> {
  const count = processCount(settings);
  const { processes } = settings.server;
  if (typeof processes === 'number' && count < processes) {
    const text = `server.processes is not used with stores of type ${typesOf('memory')}: one process answers`;
    env.log.warn({ processes }, text);
  }
  // Before anything is created: a start that is refused leaves no data folder behind.
  const port = await probeAddress(settings.server);
  return explainingDataFaults(settings.data, () =>
    count === 1 ? openApp(settings, env) : openSupervisor(settings, env, count, port),
  );
}

function openSupervisor(base: Settings, env: ServerOptions, count: number, port: number): Promise<App> {
  return opened(async (open) => {
    const { clock, random, log, file } = env;
    const areaThread = open.use(openAreaThread(log));
    await openDataFolder(base.data, log, open);
    if (base.database !== null) open.use(await lockDatabase(base, base.database, { clock, log }));
    const { feed, pool: workers, start: startWorkers } = await openWorkers(base, env, open);
    let first = true;
    let initialPassword: App['initialPassword'] = null;
    const pool = openPool({
      what: 'a process of the server',
      stopTimeoutMs: STOP_TIMEOUT_MS,
      fork() {
        const child = env.forkServer(port, first);
        first = false;
        return child;
      },
      async begin({ channel }, ready) {
        channel.handle(END_PROCESS, ({ pid }) => {
          for (const some of [pool, workers]) some.kill(pid);
        });
        channel.handle(START_WORKERS, startWorkers);
        // This process itself uses only settings that change with a restart.
        channel.handle(FILE_APPLIED, (read) => {
          file.current = { ...file.current, ...read };
        });
        initialPassword = (await ready) ?? initialPassword;
      },
      ...{ feed, file, clock, random, log },
    });

    async function reload(): Promise<void> {
      const before = file.current;
      const read = await areaThread.readSettings(file.input);
      const next = { ...read, settings: servingSettingsFrom(read.handover) };
      refuseMoving(before.settings, next.settings);
      const { tls } = next.settings.server;
      if (tls) await readTlsFiles(tls);
      file.current = next;
      try {
        await pool.replaceAll();
        await workers.replaceAll();
      } catch (error) {
        file.current = before;
        throw error;
      }
    }

    open.use({ close: async () => void (await Promise.all([pool.close(), workers.close()])) });
    // The first one creates missing files and tables.
    await pool.add();
    await Promise.all(Array.from({ length: count - 1 }, () => pool.add()));
    let reloading: Promise<unknown> = Promise.resolve();
    open.use({ close: () => reloading });
    return {
      url: urlOf({ ...base.server, port }),
      initialPassword,
      reload() {
        const done = reloading.then(reload);
        reloading = done.catch(() => {});
        return done.then(() => []);
      },
    };
  });
}

/** Address, data folder, database and number of processes cannot change while the server runs. */
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

/** One of several processes that answer. */
export function openServerApp(
  settings: Settings,
  env: Omit<ServerEnv, 'supervisor'>,
  parent: Channel,
  first: boolean,
) {
  return openChild(parent, () => {
    const supervisor = {
      first,
      end: (pid: number) => parent.tell(END_PROCESS, { pid }),
      reloaded: ({ handover, configFile }: ReadSettings) =>
        parent.ask(FILE_APPLIED, { handover, configFile }),
      newerSettings: () => newerSettings(parent),
      startWorkers: () => parent.tell(START_WORKERS, null),
    };
    return openApp(settings, { ...env, supervisor });
  });
}
