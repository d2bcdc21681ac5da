/** Derived from a node's settings: its name, where it listens, and what it shares with other nodes and processes. */
import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import { driverOf } from '../storage/drivers.ts';
import { type TaskSettings, taskSettingsFor } from '../tasks/task-service.ts';
import type { Settings } from './settings.ts';

/** Whether other nodes may use the same database and stores. */
export function isShared(settings: Pick<Settings, 'stores' | 'database'>): boolean {
  return settings.database !== null && sharesStores(settings);
}

/** For messages to users of several nodes; null: this is the only one. */
export function exportNode(settings: Pick<Settings, 'stores' | 'database' | 'node'>): string | null {
  return isShared(settings) ? (settings.node ?? hostname()) : null;
}

export function sharesStores({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).every((store) => driverOf(store).place === 'shared');
}

export function nodeName({ node }: Pick<Settings, 'node'>, port: number): string {
  return node ?? `${hostname()}:${port}`;
}

/** Another node on this machine may have the port. */
export function workerName({ node }: Pick<Settings, 'node'>): string {
  return node ?? `${hostname()}:worker-${process.pid}`;
}

/** Where a server with these settings answers, with a slash at the end. */
export function urlOf({ host, port, tls }: Pick<Settings['server'], 'host' | 'port' | 'tls'>): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

/** A process cannot fill the memory of another. */
export function keepsInMemory({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).some((store) => driverOf(store).place === 'memory');
}

/** `auto`: more processes than this answer hardly more, and each has its own memory tier. */
const MOST_PROCESSES = 4;

/** How many processes answer. One cannot read the memory of another; over shared stores nodes are run instead. */
export function processCount(settings: Settings): number {
  if (keepsInMemory(settings) || sharesStores(settings)) return 1;
  const { processes } = settings.server;
  return typeof processes === 'number' ? processes : Math.min(MOST_PROCESSES, availableParallelism());
}

export function taskSettings({ tasks }: Settings): TaskSettings {
  const usual = taskSettingsFor(availableParallelism());
  const { workers, maxThreads } = tasks;
  return { ...tasks, workers: workers ?? usual.workers, maxThreads: maxThreads ?? usual.maxThreads };
}

export function databaseOf({ database, data }: Pick<Settings, 'database' | 'data'>): string {
  return database ?? join(data, 'tilewarden.db');
}
