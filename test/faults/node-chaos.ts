/** Nodes on one PostgreSQL and S3 under mixed load, while things break. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { openPackStore } from '../../src/storage/objects/pack-store.ts';
import { pagesIn } from '../../src/storage/read-tiles.ts';
import { openS3Objects } from '../../src/storage/s3/s3-objects.ts';
import { s3StoreOptions } from '../../src/storage/s3/s3-store-options.ts';
import { collect, recount, sortedPages } from '../contracts/tile-store-tools.ts';
import { type Cluster, openCluster } from '../e2e/cluster.ts';
import { LAYER, type TaskServer, tilesOf } from '../e2e/task-server.ts';
import type { PostgresCluster } from '../fixtures/databases.ts';
import { openTestPostgres } from '../fixtures/databases.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength } from '../fixtures/length.ts';
import {
  type FaultMode,
  type FaultProxy,
  openDatabaseProxy,
  openFaultProxy,
  type TcpProxy,
} from '../fixtures/network.ts';
import { sharedS3 } from '../fixtures/shared-services.ts';
import { CHEAP_PASSWORDS } from '../fixtures/shared-services-host.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';

interface Member {
  readonly name: string;
  readonly data: string;
  /** A file: the milliseconds that its wall clock is ahead of the others. */
  readonly clock: string;
  readonly proxy: TcpProxy & { readonly address: string };
  server: TaskServer;
  /** Rises with everything that happens to the node; even: it should answer, odd: it may not. */
  fault: number;
  /** It cannot reach the database: its memory may be outdated. */
  cutOff: boolean;
}

export interface ChaosResult {
  readonly reads: number;
  readonly failedReads: number;
  readonly truncations: number;
  readonly seeds: number;
}

const ZOOM_STOP = inLength(2, 3);
const TILES = [...tilesOf(0, ZOOM_STOP)];
const SET = { layer: LAYER, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const TRUNCATE = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
const ANY_LOG = /./;
/** Milliseconds. */
const READ_TIMEOUT_MS = 20_000;
const READ_PAUSE = inLength(300, 5);
const ADMINISTRATOR_PAUSE = inLength(1500, 300);

export async function openChaos(count: number) {
  const postgres = await openTestPostgres();
  whenOver(() => postgres.close());
  const s3 = await openFaultProxy((await sharedS3()).endpoint);
  whenOver(() => s3.close());
  const store = { endpoint: s3.url };
  const cluster = await openCluster({ upstream: 'concurrency: 8', database: postgres.address, store });
  const names = Array.from({ length: count }, (_, i) => `node-${i + 1}`);
  const members = await Promise.all(names.map((name) => joinCluster(cluster, name)));
  return new Chaos({ cluster, members, postgres, s3 });
}

async function joinCluster(cluster: Cluster, name: string): Promise<Member> {
  const proxy = await openDatabaseProxy(cluster.database);
  whenOver(() => proxy.close());
  const clock = join(temporaryFolder(), 'ahead');
  await writeFile(clock, '0');
  const member = { name, data: temporaryFolder(), clock, proxy };
  return { ...member, server: await startOn(cluster, member), fault: 0, cutOff: false };
}

const JUMPING_CLOCK = new URL('../fixtures/jumping-clock.mjs', import.meta.url).href;

function startOn(
  cluster: Cluster,
  { name, data, clock, proxy }: Omit<Member, 'server' | 'fault' | 'cutOff'>,
) {
  const NODE_OPTIONS = `${CHEAP_PASSWORDS.NODE_OPTIONS} --import ${JUMPING_CLOCK}`;
  const env = { NODE_OPTIONS, JUMPING_CLOCK: clock };
  return cluster.serve({ name, data, env, database: proxy.address, workers: 1, expectedLog: ANY_LOG });
}

interface ChaosParts {
  readonly cluster: Cluster;
  readonly members: readonly Member[];
  readonly postgres: PostgresCluster;
  readonly s3: FaultProxy;
}

export class Chaos {
  readonly #parts: ChaosParts;
  readonly #over = new AbortController();
  readonly #tasks: number[] = [];
  readonly #wrong: string[] = [];
  #reads = 0;
  #failed: string[] = [];
  #truncations = 0;

  constructor(parts: ChaosParts) {
    this.#parts = parts;
  }

  get #members(): readonly Member[] {
    return this.#parts.members;
  }

  /** Runs the requests of clients and of an administrator during `faults`, and checks the result. */
  async run(faults: (chaos: Chaos) => Promise<void>): Promise<ChaosResult> {
    for (const { server } of this.#members) for (const at of TILES) await server.tile(at);
    // Later ones may all be refused: the short form has a fault at nearly every moment.
    await this.#truncate(this.#member(0));
    await this.#seed(this.#member(0));
    const load = [...this.#members.map((member) => this.#readOn(member)), this.#administer()];
    await faults(this).finally(() => this.#over.abort());
    await Promise.all(load);
    await this.#expectConsistent();
    expect(this.#wrong).toEqual([]);
    const [reads, failedReads] = [this.#reads, this.#failed.length];
    return { reads, failedReads, truncations: this.#truncations, seeds: this.#tasks.length };
  }

  get failures(): readonly string[] {
    return this.#failed;
  }

  /** The network between one node and the database is down. */
  async partitioned(which: number, ms: number): Promise<void> {
    const member = this.#member(which);
    await this.#withoutDatabase([member], async () => {
      member.proxy.block();
      await pause(ms);
      member.proxy.mend();
    });
  }

  async databaseRestarted(): Promise<void> {
    await this.#withoutDatabase(this.#members, () => this.#parts.postgres.restart());
  }

  async #withoutDatabase(some: readonly Member[], work: () => Promise<void>): Promise<void> {
    for (const member of some) member.cutOff = true;
    await work();
    for (const member of some) {
      await this.#untilSound(member);
      member.cutOff = false;
    }
  }

  async withFaultyS3(mode: FaultMode, ms: number): Promise<void> {
    this.#parts.s3.mode = mode;
    await pause(ms);
    this.#parts.s3.mode = 'pass';
  }

  /** Stopped and woken, with its workers. */
  async stopped(which: number, ms: number): Promise<void> {
    const member = this.#member(which);
    const pids = [member.server.pid, ...member.server.workers()];
    member.fault++;
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await pause(ms);
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    await this.#untilSound(member);
    member.fault++;
  }

  /** Its wall clock is ahead of the others by so many milliseconds from now on; behind them if negative. */
  async clockJumps(which: number, ms: number): Promise<void> {
    await writeFile(this.#member(which).clock, String(ms));
  }

  async killed(which: number): Promise<void> {
    const member = this.#member(which);
    member.fault++;
    await member.server.kill();
    await this.#restart(member);
  }

  async restarted(which: number): Promise<void> {
    const member = this.#member(which);
    member.fault++;
    await member.server.stop();
    await this.#restart(member);
  }

  async #restart(member: Member): Promise<void> {
    member.server = await startOn(this.#parts.cluster, member);
    member.fault++;
  }

  #member(which: number): Member {
    const member = this.#members[which];
    if (!member) throw new Error(`There is no node ${which}.`);
    return member;
  }

  async #untilSound({ server, name }: Member): Promise<void> {
    await eventually(`${name} is ready`, async () => {
      const answer = await fetch(`${server.url}/readyz`).catch(() => null);
      return answer?.status === 200 && (await answer.text()) === 'ready\n';
    });
  }

  async #readOn(member: Member): Promise<void> {
    for (let n = 0; !this.#over.signal.aborted; n++) {
      const before = member.fault;
      const { z, x, y } = TILES[(n * 7) % TILES.length] ?? { z: 0, x: 0, y: 0 };
      const url = `${member.server.url}/tiles/${LAYER}/EPSG:900913/${z}/${x}/${y}.png`;
      const signal = AbortSignal.timeout(READ_TIMEOUT_MS);
      const status = await statusOf(url, signal);
      await pause(READ_PAUSE);
      if (before % 2 === 1 || before !== member.fault) continue;
      this.#reads++;
      if (status !== 200) this.#failed.push(`${member.name} ${z}/${x}/${y} ${status}`);
    }
  }

  async #administer(): Promise<void> {
    for (let n = 0; !this.#over.signal.aborted; n++) {
      const member = this.#member(n % this.#members.length);
      await this.#truncate(member).catch(() => {});
      if (n % 2 === 0) await this.#seed(member).catch(() => {});
      await pause(ADMINISTRATOR_PAUSE);
    }
  }

  /** Once it is acknowledged, every node that answers and can reach the database shows the new map. */
  async #truncate({ server }: Member): Promise<void> {
    const version = ++this.#parts.cluster.wms.version;
    const answer = await server.request('POST', '/masstruncate', TRUNCATE, 'text/xml');
    if (answer.status !== 200) return;
    this.#truncations++;
    for (const member of this.#members) await this.#checkTile(member, version);
  }

  async #checkTile(member: Member, version: number): Promise<void> {
    const before = member.fault;
    if (before % 2 === 1 || member.cutOff) return;
    const at = TILES[version % TILES.length] ?? { z: 0, x: 0, y: 0 };
    const seen = await member.server.expectTiles([at], { version }).then(
      () => null,
      (error: unknown) => String(error),
    );
    if (seen === null || before !== member.fault || member.cutOff) return;
    this.#wrong.push(`${member.name} showed ${at.z}/${at.x}/${at.y} not as version ${version}: ${seen}`);
  }

  async #seed({ server }: Member): Promise<void> {
    this.#tasks.push(await server.start({ zoomStop: ZOOM_STOP, threadCount: 2 }));
  }

  /** Every accepted task has ended, all nodes report the same, and the ledger equals a recount. */
  async #expectConsistent(): Promise<void> {
    const [first, ...others] = this.#members.map(({ server }) => server);
    if (!first) return;
    for (const id of this.#tasks) {
      const task = await first.over(id);
      expect(task).toMatchObject({ state: 'done', tilesProcessed: task.tilesTotal });
    }
    for (const other of others) {
      await eventually(
        'all nodes report one usage',
        async () => [await usageOf(first), await usageOf(other)],
        ([one, two]) => one === two,
      );
    }
    await this.#expectExactLedger();
  }

  /** Reads every tile directly from the store. */
  async #expectExactLedger(): Promise<void> {
    const { database: location, store: options } = this.#parts.cluster;
    const tools = { clock: systemClock, random: systemRandom, log: silentLogger };
    const database = await openDatabase({ location, ...tools });
    const given = { ...tools, name: 'default', database, sweeps: () => false };
    const checked = s3StoreOptions.parse(options);
    const openBucket = () => openS3Objects(checked, tools);
    const store = await openPackStore(checked, { ...given, openBucket });
    const pages = sortedPages(await collect(pagesIn(store, { set: SET })));
    const counted = await recount(store, SET);
    await store.close();
    await database.close();
    expect(pages.filter(({ tiles }) => tiles > 0)).toEqual(counted);
  }
}

async function usageOf(server: TaskServer): Promise<string> {
  const answer = await server.request('GET', '/api/v1/usage');
  expect(answer.status).toBe(200);
  const { bytes, tiles } = (await answer.json()) as { readonly bytes: number; readonly tiles: number };
  return `${tiles} tiles, ${bytes} bytes`;
}

async function statusOf(url: string, signal: AbortSignal): Promise<number | string> {
  try {
    const answer = await fetch(url, { signal });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    return String(error);
  }
}
