/** Derived from a node's settings: its name, its address, and its shared state. */
import { existsSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { driverOf } from '../storage/drivers.ts';
import type { TaskSettings } from '../tasks/open-task-service.ts';
import { DEFAULT_CONFIG_NAME } from './environment.ts';
import type { SettingsFile } from './load-settings.ts';
import type { Settings } from './settings-schema.ts';

/** Whether other nodes may use the same database and stores. */
export function isShared(settings: Pick<Settings, 'stores' | 'database'>): boolean {
  return settings.database !== null && sharesStores(settings);
}

/** The node's name in messages about exports; null: there is no other node. */
export function exportNode(settings: Pick<Settings, 'stores' | 'database' | 'node'>): string | null {
  return isShared(settings) ? (settings.node ?? hostname()) : null;
}

export function sharesStores({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).every((store) => driverOf(store).place === 'shared');
}

/** `several`: other processes of the server are nodes on its database too. */
export function nodeName(
  { node, database }: Pick<Settings, 'node' | 'database'>,
  port: number,
  several: boolean,
): string {
  const name = node ?? `${hostname()}:${port}`;
  return several && database !== null ? `${name} (${process.pid})` : name;
}

/** Not by port, as the name of a server: a worker listens on none. */
export function workerName({ node }: Pick<Settings, 'node'>): string {
  return node ?? `${hostname()}:worker-${process.pid}`;
}

/** Address of a server with these settings, with a slash at the end. */
export function urlOf({ host, port, tls }: Pick<Settings['server'], 'host' | 'port' | 'tls'>): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

/** Whether a store is in the memory of one process, which others can neither read nor fill. */
export function keepsInMemory({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).some((store) => driverOf(store).place === 'memory');
}

/** `auto`: more processes than this answer hardly more, and each has its own memory tier. */
const MAX_PROCESSES = 4;

/** Number of processes that answer requests. Their memory is separate. */
export function processCount(settings: Settings): number {
  if (keepsInMemory(settings)) return 1;
  const { processes } = settings.server;
  return typeof processes === 'number' ? processes : Math.min(MAX_PROCESSES, availableParallelism());
}

/** A worker for each processor core, and enough metatiles in flight to keep an upstream busy. */
export function taskSettings({ tasks }: Settings): TaskSettings {
  const cores = availableParallelism();
  const { workers, maxThreads } = tasks;
  return { ...tasks, workers: workers ?? cores, maxThreads: maxThreads ?? Math.max(8, cores * 4) };
}

export function databaseOf({ database, data }: Pick<Settings, 'database' | 'data'>): string {
  return database ?? join(data, 'tilewarden.db');
}

/** For administrators: how to allow a host in a private network, with the line for the configuration file. */
export function createPrivateAdvice({ data }: Settings, file?: SettingsFile): (host: string) => string {
  return (host) => {
    const path = file?.current.configFile ?? join(dirname(data), DEFAULT_CONFIG_NAME);
    const place = existsSync(path) ? path : `${path} (the file does not exist yet)`;
    const line = `upstreams: { '${host}': { allowPrivate: true } }`;
    return `${host} is a private address. Allow it in ${place}, then reload the configuration file: ${line}`;
  };
}

/** Loads the schemas only when there are documents to read: they take a fifth of a process's start. */
export function documentReaderOf(
  settings: Pick<Settings, 'areas' | 'groups' | 'stores' | 'adoptFolders' | 'adoptBuckets'>,
) {
  return async () => (await import('./document-reader.ts')).createDocumentReader(settings);
}
