import { readFileSync, writeFileSync } from 'node:fs';
import { ADMIN_PASSWORD, type RunningServer, type ServerOptions, startServer } from '../e2e/server.ts';

/** One tile in each of two grid sets: whatever a hostile request starts is over at once. */
export const SMALL_LAYER = 'small';

const CONFIG = `
tasks: { workers: 1 }
layers:
  - name: ${SMALL_LAYER}
    source: { type: world }
    gridSets: [{ name: EPSG:900913, zoomStop: 0 }]
`;

/** With nobody but the user `admin`, who comes with a password: hostile requests may revoke tokens. */
export async function startGuardedServer({ env, ...options }: ServerOptions = {}): Promise<RunningServer> {
  return startServer({
    config: CONFIG,
    env: { TILEWARDEN_ADMIN_PASSWORD: ADMIN_PASSWORD, ...env },
    ...options,
  });
}

/** Resident memory of a process, in bytes. */
export function residentMemory(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}

/** Forgets the highest so far; proc(5), clear_refs. */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The highest resident memory since the last reset, in bytes. */
export function peakMemory(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}
