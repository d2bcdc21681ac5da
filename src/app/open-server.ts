import { type App, openApp } from '../app.ts';
import type { Settings } from '../config/settings.ts';
import { probeAddress } from '../http/server.ts';
import { typesOf } from '../storage/drivers.ts';
import { explainingDataFaults } from './data-folder.ts';
import { processCount } from './node-settings.ts';
import { openSupervisor, type ServerOptions } from './open-supervisor.ts';

export async function openServer(settings: Settings, env: ServerOptions): Promise<App> {
  const count = processCount(settings);
  const { processes } = settings.server;
  if (typeof processes === 'number' && count < processes) {
    const text = `server.processes is not used with stores of type ${typesOf('shared', 'memory')}: one process answers`;
    env.log.warn({ processes }, text);
  }
  // Before anything is created: a start that is refused leaves no data folder behind.
  const port = await probeAddress(settings.server);
  return explainingDataFaults(settings.data, () =>
    count === 1 ? openApp(settings, env) : openSupervisor(settings, env, count, port),
  );
}
