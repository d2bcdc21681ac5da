/**
 * A server whose store is on a small disk of its own, in a mount namespace that ends with it. Tests reach its disk
 * through /proc.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { pictureLayer } from '../fixtures/configurations.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openStoreIn } from '../fixtures/segment-store.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const SETTINGS = `log: { level: error }
memoryTier: { size: 0 B }
stores: { default: { type: bundle, maxOpenSegments: 4 } }
`;

const ZOOMS = [2, 3, 4, 5, 6, 7];

interface ShownExport {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
}

interface DiskServer {
  readonly url: string;
  /** The store's disk as the server sees it. */
  readonly disk: string;
  stop(): Promise<void>;
}

/** `mount` is done before the server starts; `$STORES` is the folder of its stores. */
async function serveOn(folder: string, mount: string): Promise<DiskServer> {
  const stores = join(folder, 'data', 'stores');
  mkdirSync(stores, { recursive: true });
  writeFileSync(join(folder, 'tilewarden.yaml'), `${SETTINGS}${await pictureLayer('world', 12)}`);
  const files = ['--data', join(folder, 'data'), '--config', join(folder, 'tilewarden.yaml')];
  const serve = [process.execPath, 'dist/cli/main.js', 'serve', '--no-auth', '--port', '0', ...files];
  const server = await started(
    spawn('unshare', ['-Urm', 'sh', '-c', `${mount} && exec "$@"`, 'sh', ...serve], {
      cwd: PROJECT,
      env: { ...process.env, STORES: stores },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const ended = once(server, 'exit');
  return {
    url: await readyUrl(server),
    disk: `/proc/${server.pid}/root${stores}`,
    async stop() {
      server.kill('SIGTERM');
      await ended;
    },
  };
}

/** The lines for the administrator of a start that fails. */
async function failedStart(mount: string): Promise<readonly string[]> {
  const data = temporaryFolder();
  const serve = [process.execPath, 'dist/cli/main.js', 'serve', '--port', '0', '--data', data];
  const command = ['-Urm', 'sh', '-c', `${mount} && exec "$@"`, 'sh', ...serve];
  const env = { ...process.env, DATA: data };
  const server = await started(
    spawn('unshare', command, { cwd: PROJECT, env, stdio: ['ignore', 'ignore', 'pipe'] }),
  );
  const [output] = await Promise.all([text(server.stderr), once(server, 'exit')]);
  expect(server.exitCode).toBe(1);
  return output.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
}

async function readyUrl({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('The server has no output.');
  for await (const line of createInterface({ input: stdout })) {
    const ready = /ready at (\S+)\/$/.exec(line)?.[1];
    if (ready !== undefined) return ready;
  }
  throw new Error('The server did not start.');
}

const folders: string[] = [];

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-disk-'));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The `X-Cache` of the tile: HIT, MISS or BYPASS. */
async function outcomeOf({ url }: DiskServer, tile: string): Promise<string | null> {
  const response = await fetch(`${url}/tiles/world/${tile}.png`);
  expect(response.status).toBe(200);
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(50);
  return response.headers.get('x-cache');
}

async function cached(server: DiskServer, tile: string): Promise<void> {
  await eventually(
    `${tile} is kept`,
    () => outcomeOf(server, tile),
    (outcome) => outcome === 'HIT',
  );
}

/** Every stored tile is a hit, also in closed segments. */
async function expectHits(server: DiskServer): Promise<void> {
  for (let round = 0; round < 5; round++) {
    for (const z of ZOOMS) expect(await outcomeOf(server, `${z}/0/0`)).toBe('HIT');
  }
}

async function tilesOf({ url }: DiskServer): Promise<number> {
  const { tiles } = (await (await fetch(`${url}/api/v1/usage`)).json()) as { tiles: number };
  return tiles;
}

/** Tiles that are not cached are served too. */
async function expectServed(server: DiskServer, z: number): Promise<void> {
  for (const x of [10, 50, 90]) expect(await outcomeOf(server, `${z}/${x}/10`)).not.toBe('HIT');
}

/** The same, and none of them is stored. */
async function expectUncached(server: DiskServer, z: number): Promise<void> {
  await untilStored(server);
  const before = await tilesOf(server);
  await expectServed(server, z);
  await untilStored(server);
  expect(await tilesOf(server)).toBe(before);
}

/** The state of the disk in the API and in the metrics. */
async function expectReported({ url }: DiskServer, storing: boolean): Promise<void> {
  const report = async () => {
    const { disks } = (await (await fetch(`${url}/api/v1/usage`)).json()) as { disks: object[] };
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return { disks, metric: /^tilewarden_store_storing.*$/m.exec(metrics)?.[0] };
  };
  await expect.poll(report).toMatchObject({
    disks: [{ store: 'default', minFreePercent: 2, storing }],
    metric: `tilewarden_store_storing{store="default"} ${storing ? 1 : 0}`,
  });
}

async function expectStoring(server: DiskServer, z: number): Promise<void> {
  const before = await tilesOf(server);
  let x = 0;
  const grows = async () => {
    x += 8;
    await outcomeOf(server, `${z}/${x}/90`);
    return (await tilesOf(server)) > before;
  };
  await eventually('tiles are kept again', grows);
}

function untilRefused(write: (at: number) => void): void {
  for (let at = 0; at < 100_000; at++) {
    try {
      write(at);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
      return;
    }
  }
  throw new Error('The disk does not fill.');
}

describe('on a small disk', needs('namespaces'), () => {
  let server: DiskServer;
  let fillers: string;

  beforeAll(async () => {
    server = await serveOn(
      temporaryFolder(),
      `mount -t tmpfs -o size=32m,nr_inodes=1000 tmpfs "$STORES" &&
      mkdir "$STORES/../exports" && mount -t tmpfs -o size=128k tmpfs "$STORES/../exports"`,
    );
    fillers = join(server.disk, 'fillers');
    for (const z of ZOOMS) await cached(server, `${z}/0/0`);
  });
  afterAll(() => server.stop());
  beforeEach(() => mkdirSync(fillers));
  afterEach(() => rmSync(fillers, { recursive: true, force: true }));

  it('tiles are served from a full disk, and stored again when there is room', async () => {
    untilRefused((at) => writeFileSync(join(fillers, `${at}`), Buffer.alloc(65_536)));
    await expectHits(server);
    await expectUncached(server, 8);
    await expectReported(server, false);
    rmSync(fillers, { recursive: true });
    await expectStoring(server, 8);
    await expectReported(server, true);
  });

  it.each(['mbtiles', 'pmtiles'])(
    'an export of type %s on a full disk fails with the reason and leaves no file',
    async (type) => {
      const exports = `${server.url}/api/v1/exports`;
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ layer: 'world', type });
      const { id } = (await (await fetch(exports, { method: 'POST', headers, body })).json()) as ShownExport;
      const { reason } = await eventually(
        'it has failed',
        async () => (await (await fetch(`${exports}/${id}`)).json()) as ShownExport,
        ({ state }) => state === 'failed',
      );
      expect(reason).toMatch(/^The disk of .*exports is full: there is not enough space for the file\.$/);
      const folder = join(server.disk, '..', 'exports');
      await eventually('nothing is left', () => readdirSync(folder).length === 0);
    },
  );

  it('tiles are served from a disk without free inodes, and stored again when there are some', async () => {
    untilRefused((at) => writeFileSync(join(fillers, `${at}`), ''));
    await expectHits(server);
    await expectServed(server, 9);
    rmSync(fillers, { recursive: true });
    await expectStoring(server, 9);
  });

  it('a layer is truncated while the disk of the stores is full, and no tile is counted afterwards', async () => {
    await expectTruncated(server);
  });

  it('a quota frees space on a disk that is full to the last byte', async () => {
    for (const z of ZOOMS) await cached(server, `${z}/0/0`);
    await untilStored(server);
    untilRefused((at) => writeFileSync(join(fillers, `${at}`), Buffer.alloc(65_536)));
    expect(await tilesOf(server)).toBe(ZOOMS.length);
    const quota = { enabled: true, cacheCleanUpFrequency: 1, globalQuota: { value: 1, units: 'B' } };
    const init = { method: 'PUT', headers: { 'content-type': 'application/json' } };
    const changed = await fetch(`${server.url}/api/v1/quota`, { ...init, body: JSON.stringify(quota) });
    expect(changed.status).toBe(200);
    await untilEmpty(server);
  });
});

async function untilEmpty(server: DiskServer): Promise<void> {
  await eventually(
    'nothing is left',
    () => tilesOf(server),
    (tiles) => tiles === 0,
  );
}

/** Fills the disk of the stores, and truncates the layer. */
async function expectTruncated(server: DiskServer): Promise<void> {
  const body = '<truncateLayer><layerName>world</layerName></truncateLayer>';
  const init = { method: 'POST', headers: { 'content-type': 'text/xml' }, body };
  const fillers = join(server.disk, 'fillers');
  mkdirSync(fillers, { recursive: true });
  for (const z of ZOOMS) await cached(server, `${z}/0/0`);
  await untilStored(server);
  untilRefused((at) => writeFileSync(join(fillers, `${at}`), Buffer.alloc(65_536)));
  expect((await fetch(`${server.url}/masstruncate`, init)).status).toBe(200);
  await untilEmpty(server);
}

/** One tile of each zoom. */
async function fillStore(root: string): Promise<void> {
  mkdirSync(root, { recursive: true });
  const store = await openStoreIn(root);
  const set = { layer: 'world', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  const tile = { x: 0, y: 0, bytes: Buffer.alloc(100, 7), createdAt: Date.now() };
  for (const z of ZOOMS) await store.put(set, z, [tile], 0);
  await store.close();
}

it(
  'a server starts on a full disk, and stores tiles again when there is room',
  needs('namespaces'),
  async () => {
    const folder = temporaryFolder();
    const made = join(folder, 'made');
    await fillStore(join(made, 'default'));
    const fill = 'cat /dev/zero > "$STORES/filler" 2> /dev/null';
    const server = await serveOn(
      folder,
      `mount -t tmpfs -o size=16m tmpfs "$STORES" && cp -r '${made}/.' "$STORES" && { ${fill} || true; }`,
    );
    try {
      await expectHits(server);
      expect(await tilesOf(server)).toBe(ZOOMS.length);
      await expectUncached(server, 9);
      rmSync(join(server.disk, 'filler'));
      await expectStoring(server, 9);
      await expectHits(server);
    } finally {
      await server.stop();
    }
  },
);

it(
  'a layer is truncated while the disk of the data folder is full, and no tile is counted afterwards',
  needs('namespaces'),
  async () => {
    const mount = 'mount -t tmpfs -o size=32m tmpfs "$STORES/.." && mkdir -p "$STORES"';
    const server = await serveOn(temporaryFolder(), mount);
    try {
      await expectTruncated(server);
    } finally {
      await server.stop();
    }
  },
);

it(
  'a server on a read-only disk serves cached tiles, and others without storing them',
  needs('namespaces'),
  async () => {
    const folder = temporaryFolder();
    await fillStore(join(folder, 'data', 'stores', 'default'));
    const server = await serveOn(
      folder,
      'mount --bind "$STORES" "$STORES" && mount -o remount,bind,ro "$STORES"',
    );
    try {
      await expectHits(server);
      expect(await tilesOf(server)).toBe(ZOOMS.length);
      await expectUncached(server, 9);
    } finally {
      await server.stop();
    }
  },
);

it.each([
  [
    'read-only',
    'mount -t tmpfs -o ro tmpfs "$DATA"',
    /cannot be written: its disk is read-only, or this user/,
  ],
  ['full from the beginning', 'mount -t tmpfs -o size=40k tmpfs "$DATA"', /is full: free some space/],
  ['full after the tables', 'mount -t tmpfs -o size=600k tmpfs "$DATA"', /is full: free some space/],
])(
  'a data folder whose disk is %s is reported in one line',
  needs('namespaces'),
  async (_, mount, message) => {
    expect(await failedStart(mount)).toEqual([expect.stringMatching(message)]);
  },
);
