// Cache hits beside nginx, mod_mapcache and bare node:http with the same tiles. Needs wrk and nginx.
// nginx has one process, mod_mapcache threads on every core. Hits from the store are compared with mod_mapcache.
// npm run bench -- hits [--zoom 5] [--bytes 2300] [--seconds 5] [--rounds 3] [--connections 32,512] [--processes 2,4]
// The 256 tiles of the zoom whose size is nearest to --bytes are requested.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Contestant, compete, tileNames, writeTileList } from '../harness/load.ts';
import { readOptions } from '../harness/options.ts';
import { say, temporaryFolder } from '../harness/report.ts';
import { request } from '../harness/request.ts';
import { contestantOf, startServer } from '../harness/server.ts';
import { startBareNode, startMapCache, startNginx } from './file-servers.ts';

const TILES = 256;
const { zoom, bytes, seconds, rounds, connections, processes } = readOptions({
  zoom: 5,
  bytes: 2300,
  seconds: 5,
  rounds: 3,
  connections: [32, 512],
  processes: [2],
});
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
  await competeWith(running, 'from memory', '256 MiB');
  await competeWith([mapCache[0] ?? nginx], 'from the store', '0');
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
  sizes.sort((a, b) => Math.abs(a.size - bytes) - Math.abs(b.size - bytes)).splice(TILES);
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
async function competeWith(peers: readonly Contestant[], from: string, memoryTier: string): Promise<void> {
  const ours: Contestant[] = [];
  for (const count of [1, ...processes]) {
    const copy = join(folder, `${from}-${count}`, 'data');
    cpSync(data, copy, { recursive: true });
    const config = `memoryTier: { size: ${memoryTier} }\nlog: { level: warn }\n`;
    const server = await startServer({
      data: copy,
      config,
      flags: ['--port', '0', '--processes', `${count}`],
    });
    ours.push(contestantOf(server, `Tilewarden, ${from}, processes: ${count}`, join(folder, 'tiles.txt')));
  }
  for (const count of connections) {
    say(`\n${count} connections`);
    await compete([...peers, ...ours], { seconds, connections: count }, rounds);
  }
  for (const server of ours) await server.stop();
}
