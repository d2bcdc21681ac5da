/** Several nodes on one PostgreSQL and one S3, with a layer `roads` on a mock WMS. */
import { randomBytes } from 'node:crypto';
import type { MockWms } from '../fixtures/mock-wms.ts';
import { createPostgresDatabase, sharedS3 } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type RunningNode, type ServerOptions, startServer, startWorker } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';
import { openWms, roadsConfig, speakTo, type TaskCalls, type TaskServer } from './task-server.ts';

export interface ClusterOptions {
  /** Limits of the mock WMS. */
  readonly upstream?: string;
  /** A database of its own in the shared PostgreSQL when left out. */
  readonly database?: string;
  /** Further settings, as YAML. */
  readonly settings?: string;
  /** Settings of the store, beside those that lead to the shared S3. */
  readonly store?: object;
}

export interface NodeOptions extends Pick<ServerOptions, 'data' | 'env' | 'expectedLog'> {
  readonly name?: string;
  /** The address of the database, if not the direct one. */
  readonly database?: string;
  /** Settings of the store that only this node has. */
  readonly store?: object;
  /** Processes that perform tasks; a server has none by default. */
  readonly workers?: number;
  /** Further flags. */
  readonly args?: readonly string[];
}

export type OpenNode = OpenServer & TaskCalls;

export interface Cluster {
  readonly wms: MockWms;
  readonly database: string;
  /** As in the configuration file. */
  readonly store: object;
  serve(options?: NodeOptions): Promise<TaskServer>;
  /** A node in the process of the test. */
  open(options?: Omit<NodeOptions, 'args'>): Promise<OpenNode>;
  work(options?: NodeOptions): Promise<RunningNode>;
}

/** On a busy machine a response of the database may take longer than a node waits; it tries again. */
const BUSY =
  /changes of other nodes cannot be read|the database cannot be reached; trying again|this node sends it one request at a time/;

/** For one test, or in a hook for all tests of a file. */
export async function openCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { upstream, settings = '', store: given } = options;
  const wms = await openWms();
  const database = options.database ?? (await createPostgresDatabase());
  const prefix = `nodes-${randomBytes(6).toString('hex')}/`;
  const store = { type: 's3', ...(await sharedS3()), pathStyle: true, prefix, ...given };
  let count = 0;
  const optionsOf = ({ workers, expectedLog, ...node }: NodeOptions) => ({
    config: [
      `stores: ${JSON.stringify({ default: { ...store, ...node.store } })}`,
      `tasks: { workers: ${workers} }`,
      roadsConfig(wms, { ...(upstream && { upstream }) }),
      settings,
    ].join('\n'),
    ...(node.data !== undefined && { data: node.data }),
    ...(node.env && { env: node.env }),
    expectedLog: new RegExp([BUSY, expectedLog].flatMap((log) => log?.source ?? []).join('|')),
  });
  const flagsOf = (node: NodeOptions) => ({
    node: node.name ?? `node-${++count}`,
    database: node.database ?? database,
  });
  const processOf = (node: NodeOptions) => {
    const flags = Object.entries(flagsOf(node)).flatMap(([name, value]) => [`--${name}`, value]);
    return { ...optionsOf(node), args: [...flags, ...(node.args ?? [])] };
  };
  return {
    wms,
    database,
    store,
    serve: async (options = {}) => speakTo(await startServer(processOf({ workers: 0, ...options }))),
    open: async (options = {}) => {
      // Accounts are in the database.
      const node = { workers: 0, data: temporaryFolder(), ...options };
      return speakTo(await openServer({ ...optionsOf(node), flags: flagsOf(node) }));
    },
    work: (options = {}) => startWorker(processOf({ workers: 1, ...options })),
  };
}
