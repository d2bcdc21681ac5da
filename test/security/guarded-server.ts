import { readFileSync, writeFileSync } from 'node:fs';
import { ADMIN_PASSWORD, type RunningServer, type ServerOptions, startServer } from '../e2e/server.ts';
import { type OpenServer, openServer } from '../e2e/server-in-process.ts';
import { pictureLayer } from '../fixtures/configurations.ts';
import { residentMemory } from '../fixtures/processes.ts';

/** One tile: a task that a hostile request starts ends quickly. */
export const SMALL_LAYER = 'small';

/** With the user `admin` only, by password: hostile requests may revoke tokens. */
export async function startGuardedServer({ env, ...options }: ServerOptions = {}): Promise<RunningServer> {
  return startServer({ ...(await guardedOptions(env)), ...options });
}

/** The same in the process of the test. */
export async function openGuardedServer(): Promise<OpenServer> {
  return openServer(await guardedOptions());
}

async function guardedOptions(env: ServerOptions['env'] = {}) {
  return {
    config: `tasks: { workers: 1 }${await pictureLayer(SMALL_LAYER, 0)}`,
    env: { TILEWARDEN_ADMIN_PASSWORD: ADMIN_PASSWORD, ...env },
  };
}

const HAS_PEAKS = process.platform === 'linux';

/** Forgets the highest so far; proc(5), clear_refs. */
export function resetPeakMemory(pid: number): void {
  if (HAS_PEAKS) writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The highest resident memory since the last reset, in bytes; if the system does not record it, the current one. */
export function peakMemory(pid: number): number {
  if (!HAS_PEAKS) return residentMemory(pid);
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}
