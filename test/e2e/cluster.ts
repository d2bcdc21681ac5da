/** Several nodes on one PostgreSQL and one S3, with a layer `roads` on a mock WMS. */
import { randomBytes } from 'node:crypto';
import type { MockWms } from '../fixtures/mock-wms.ts';
import { createPostgresDatabase, sharedS3 } from '../fixtures/shared-services.ts';
import { type RunningNode, startServer, startWorker } from './server.ts';
import { openWms, roadsConfig, speakTo, type TaskServer, type TaskServerOptions } from './task-server.ts';

export interface NodeOptions {
  readonly name?: string;
  /** The way to the database, when it is not the straight one. */
  readonly database?: string;
  readonly expectedLog?: RegExp;
  /** Further lines of the configuration file. */
  readonly config?: string;
  readonly data?: string;
}

export interface Cluster {
  readonly wms: MockWms;
  readonly database: string;
  serve(options?: NodeOptions): Promise<TaskServer>;
  work(options?: NodeOptions): Promise<RunningNode>;
}

/** On a busy machine an answer of the database may take longer than a node waits for it; it asks again. */
const BUSY = /what other nodes have changed cannot be asked|the database cannot be reached; trying again/;

export async function openCluster(
  roads: TaskServerOptions & { readonly endpoint?: string } = {},
): Promise<Cluster> {
  const wms = await openWms();
  const database = await createPostgresDatabase();
  const s3 = await sharedS3();
  const prefix = `nodes-${randomBytes(6).toString('hex')}/`;
  const store = {
    type: 's3',
    bucket: s3.bucket,
    endpoint: roads.endpoint ?? s3.endpoint,
    pathStyle: true,
    prefix,
    accessKeyId: s3.accessKeyId,
    secretAccessKey: s3.secretAccessKey,
  };
  let count = 0;
  const optionsOf = ({ name = `node-${++count}`, config = '', data, ...given }: NodeOptions) => ({
    config: `stores: ${JSON.stringify({ default: store })}\n${config}\n${roadsConfig(wms, roads)}`,
    // The library warns of Node.js 20 on standard error.
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    args: ['--node', name, '--database', given.database ?? database],
    ...(data !== undefined && { data }),
    expectedLog: new RegExp([BUSY, given.expectedLog].flatMap((log) => log?.source ?? []).join('|')),
  });
  return {
    wms,
    database,
    serve: async (options = {}) => speakTo(await startServer(optionsOf(options))),
    work: (options = {}) => startWorker(optionsOf(options)),
  };
}
