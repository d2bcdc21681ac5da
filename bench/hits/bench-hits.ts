// Cache hits beside nginx, mod_mapcache and bare node:http with the same tiles. Needs wrk and nginx.
// nginx has one process, mod_mapcache threads on every core. Hits from the store are compared with mod_mapcache.
// npm run bench -- hits [--zoom 5] [--tiles 256] [--bytes 2300] [--seconds 5] [--rounds 3] [--connections 32,512] [--processes 2,4]
// The tiles of the zoom whose size is nearest to --bytes are requested; --zoom 10 --tiles 1000000 takes long to prepare.
// --drop-caches 1 empties the system's cache of files before each round from the store; needs root, and disturbs the machine.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createCertificate } from '../../test/fixtures/network.ts';
import { type Contestant, compete, tileNames, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { createReaderKey } from '../harness/reader-key.ts';
import { say, temporaryFolder } from '../harness/report.ts';
import { request } from '../harness/request.ts';
import { contestantOf, startServer } from '../harness/server.ts';
import { startBareNode, startMapCache, startNginx } from './file-servers.ts';

const options = readOptions({
  zoom: 5,
  tiles: 256,
  bytes: 2300,
  seconds: 5,
  rounds: 3,
  connections: [32, 512],
  processes: [2],
  'drop-caches': 0,
});
const { zoom, bytes, seconds, rounds, connections, processes } = options;
const folder = temporaryFolder();
const data = join(folder, 'first', 'data');
const www = join(folder, 'www');
const running: Contestant[] = [];
try {
  const headers = await copyTiles();
  const files = { folder, www, tiles: join(folder, 'tiles.txt') };
  const nginx = await startNginx(files);
  running.push(nginx);
  const mapCache = await startMapCache(files);
  running.push(
    await startBareNode('two headers', files, ['Content-Type', 'image/png']),
    await startBareNode('our headers', files, headers),
    ...mapCache,
  );
  await competeWith(running, 'from memory', '256 MiB', [await startWithKey(), await startTls()]);
  await competeWith([mapCache[0] ?? nginx], 'from the store', '0', [], dropCaches);
} finally {
  for (const contestant of running) await contestant.stop();
}

/** Writes all tiles of the zoom as files, and a list of those to request. Returns the headers of a tile. */
async function copyTiles(): Promise<readonly string[]> {
  const server = await startServer({ data, flags: ['--port', '0'] });
  const sizes: { readonly name: string; readonly size: number }[] = [];
  let headers: readonly string[] = [];
  for (const name of tileNames(zoom)) {
    const response = await request(`${server.url}/tiles/world/${name}`);
    const tile = Buffer.from(await response.arrayBuffer());
    const file = join(www, 'tiles/world', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, tile);
    sizes.push({ name, size: tile.length });
    headers = ownHeaders(response);
  }
  await server.stop();
  sizes.sort((a, b) => Math.abs(a.size - bytes) - Math.abs(b.size - bytes)).splice(options.tiles);
  writeTileList(
    join(folder, 'tiles.txt'),
    sizes.map(({ name }) => name),
  );
  const mean = sizes.reduce((sum, { size }) => sum + size, 0) / sizes.length;
  say(`${sizes.length} tiles of ${Math.round(mean)} bytes, best of ${rounds} rounds of ${seconds} s`);
  return headers;
}

/** Names and values in turn, without those that `node:http` adds by itself. */
function ownHeaders({ headers }: Response): readonly string[] {
  const added = ['content-length', 'date', 'connection', 'keep-alive'];
  return [...headers].filter(([name]) => !added.includes(name)).flat();
}

/** Each server has a copy of the data folder. */
async function startOurs(
  name: string,
  { memory = '256 MiB', more = '', count = 1, tiles = join(folder, 'tiles.txt') },
): Promise<Contestant> {
  const copy = copyData(name);
  const config = `memoryTier: { size: ${memory} }\nlog: { level: warn }\n${more}`;
  const server = await startServer({ data: copy, config, flags: ['--port', '0', '--processes', `${count}`] });
  return contestantOf(server, `Tilewarden, ${name}`, tiles);
}

function copyData(name: string): string {
  const copy = join(folder, name.replaceAll(/\W/g, '-'), 'data');
  cpSync(data, copy, { recursive: true });
  return copy;
}

async function startWithKey(): Promise<Contestant> {
  const key = await createReaderKey(data);
  const names = readFileSync(join(folder, 'tiles.txt'), 'utf8').trim().split('\n');
  const tiles = writeTileList(
    join(folder, 'tiles-with-key.txt'),
    names.map((name) => `${name}?key=${key}`),
  );
  return startOurs('from memory, with a reader key', { tiles });
}

async function startTls(): Promise<Contestant> {
  const files = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
  const made = createCertificate('IP:127.0.0.1');
  writeFileSync(files.certificate, made.certificate);
  writeFileSync(files.key, made.key);
  return startOurs('from memory, over TLS', { more: `server: { tls: ${JSON.stringify(files)} }\n` });
}

function dropCaches(): void {
  if (!options['drop-caches']) return;
  execFileSync('sync');
  writeFileSync('/proc/sys/vm/drop_caches', '3');
}

async function competeWith(
  peers: readonly Contestant[],
  from: string,
  memory: string,
  others: readonly Contestant[],
  beforeEach?: () => void,
): Promise<void> {
  const ours: Contestant[] = [];
  for (const count of [1, ...processes])
    ours.push(await startOurs(`${from}, processes: ${count}`, { memory, count }));
  ours.push(...others);
  for (const count of connections) {
    say(`\n${count} connections`);
    await compete([...peers, ...ours], { seconds, connections: count }, rounds, beforeEach);
  }
  for (const server of ours) await server.stop();
}
