import type { ChildProcess } from 'node:child_process';
import { type App, openApp } from '../app.ts';
import type { LoadedSettings } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { misconfigured } from '../domain/errors.ts';
import { createHttpProcesses } from '../http/hits/http-processes.ts';
import { probeAddress, readTlsFiles } from '../http/server.ts';
import { typesOf } from '../storage/drivers.ts';
import { explainingDataFaults } from './data-folder.ts';
import { keepsInMemory, sharesStores, urlOf } from './node-settings.ts';
import type { ServerEnv } from './open-node.ts';

export interface ServerOptions extends Omit<ServerEnv, 'processes'> {
  /** Starts a process that opens an HTTP process app, which listens on this port. */
  readonly forkHttpProcess: (port: number) => ChildProcess;
}

export async function openServer(settings: Settings, env: ServerOptions): Promise<App> {
  const count = processCount(settings);
  if (count < settings.server.processes) {
    const text = `server.processes is not used with stores of type ${typesOf('shared', 'memory')}: one process answers`;
    env.log.warn({ processes: settings.server.processes }, text);
  }
  // Before anything is created: a start that is refused leaves no data folder behind.
  const port = await probeAddress(settings.server);
  return explainingDataFaults(settings.data, () =>
    count === 1 ? openApp(settings, env) : openPrimary(settings, env, count, port),
  );
}

/** A process cannot read the memory of another, and a shared store is read with the help of the database. */
function processCount(settings: Settings): number {
  return keepsInMemory(settings) || sharesStores(settings) ? 1 : settings.server.processes;
}

/** All processes, and their replacements, listen on the same port. */
async function openPrimary(base: Settings, env: ServerOptions, count: number, port: number): Promise<App> {
  const { clock, random, log } = env;
  const onPort = (some: Settings) => ({
    ...some,
    server: { ...some.server, port: some.server.port || port },
  });
  const settings = onPort(base);
  const fork = () => env.forkHttpProcess(port);
  const processes = createHttpProcesses({ count, fork, clock, random, log });
  /** `/rest/reload` applies a file without reopening the app. */
  const current = () => onPort(env.file?.current.settings ?? settings);
  let app = await openApp(settings, { ...env, processes });
  await processes.start().catch(async (error: unknown) => {
    await app.close();
    throw error;
  });

  async function applySettings(loaded: LoadedSettings): Promise<void> {
    const next = onPort(loaded.settings);
    refuseMoving(current(), next);
    if (next.server.tls) await readTlsFiles(next.server.tls);
    const before = env.file?.current ?? null;
    await processes.hold();
    await app.close();
    try {
      env.file?.taken(loaded);
      app = await openApp(next, { ...env, processes });
    } catch (error) {
      if (before) env.file?.taken(before);
      app = await openApp(current(), { ...env, processes });
      throw error;
    }
    await processes.replaceAll();
  }

  let reloading = Promise.resolve();
  return {
    url: urlOf(settings.server),
    initialPassword: app.initialPassword,
    applySettings(loaded) {
      const done = reloading.then(() => applySettings(loaded));
      reloading = done.catch(() => {});
      return done.then(() => []);
    },
    async close() {
      await reloading;
      await processes.close();
      await app.close();
    },
  };
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
