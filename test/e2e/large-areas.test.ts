import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestPostgis, type PostgresCluster, statement } from '../fixtures/databases.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type RunningServer, startServer } from './server.ts';

const METER = new URL('../../bench/harness/turn-meter.mjs', import.meta.url).href;
/** Beside other tests memory is slower: the longest turn of a million was 81 ms once, 12 to 28 ms alone. */
const POINTS = inLength(250_000, 1_000_000);
/** Of the processor. */
const MAX_TURN_MS = 50;
const MAX_MEMORY = 2 ** 30;

/** A closed ring around the equator with a zigzag edge. */
function ring(points: number): readonly string[] {
  const corners = Array.from({ length: points - 1 }, (_, i) => {
    const angle = (2 * Math.PI * i) / points;
    const radius = 70 + (i % 2) / 50;
    return [radius * Math.cos(angle), (radius / 2) * Math.sin(angle)].map((value) => value.toFixed(6));
  });
  return [...corners, corners[0] ?? []].map(([x, y]) => `${x} ${y}`);
}

const folder = temporaryFolder();
const inFolder = (name: string) => join(folder, name);

const WRITERS: Readonly<Record<string, (points: number) => void>> = {
  geojson: (points) => {
    const coordinates = ring(points).map((point) => `[${point.replace(' ', ',')}]`);
    writeFileSync(inFolder('a.geojson'), `{"type":"Polygon","coordinates":[[${coordinates}]]}`);
  },
  wkt: (points) => writeFileSync(inFolder('a.wkt'), `POLYGON ((${ring(points)}))`),
  geopackage(points) {
    const fresh = inFolder(`${points}.new`);
    const head = Buffer.from('4750000100000000010300000001000000', 'hex');
    const count = Buffer.alloc(4);
    count.writeUInt32LE(points);
    const values = new Float64Array(ring(points).flatMap((point) => point.split(' ').map(Number)));
    const db = new Database(fresh);
    db.exec('create table gpkg_geometry_columns (table_name text, column_name text, srs_id integer)');
    db.exec("insert into gpkg_geometry_columns values ('zones', 'geom', 4326)");
    db.exec('create table zones (fid integer primary key, geom blob)');
    const geometry = Buffer.concat([head, count, Buffer.from(values.buffer)]);
    db.prepare('insert into zones (geom) values (?)').run(geometry);
    db.close();
    renameSync(fresh, inFolder('a.gpkg'));
  },
};

async function configuredServer(areas: Readonly<Record<string, string>>) {
  const names = Object.keys(areas);
  const lines = names.map((name) => `  - { name: ${name}, ${areas[name]} }\n`);
  const layers = names.map(
    (name) =>
      `  - { name: ${name}, source: { type: world }, within: ${name}, gridSets: [EPSG:900913], metatile: [1, 1] }\n`,
  );
  const config = inFolder('tilewarden.yaml');
  const meter = inFolder('meter');
  writeFileSync(config, `areas:\n${lines.join('')}layers:\n${layers.join('')}`);
  const env = { NODE_OPTIONS: `--import ${METER}`, TURN_METER: meter };
  const server = await startServer({ args: ['--config', config], env });
  return { server, longestTurn: () => longestTurnOf(meter) };
}

async function longestTurnOf(meter: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${readFileSync(meter, 'utf8')}/turns`);
  return ((await answer.json()) as { longest: { processor: number } }).longest.processor;
}

async function reloadOverHttp({ url, authorization }: RunningServer): Promise<void> {
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await fetch(`${url}/rest/reload`, {
    method: 'POST',
    headers,
    body: 'reload_configuration=1',
  });
  expect(answer.status).toBe(200);
}

async function reloadBySignal({ pid }: RunningServer): Promise<void> {
  process.kill(pid, 'SIGHUP');
}

/** Starts the worker process. */
async function seedOnce({ url, authorization }: RunningServer): Promise<void> {
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ layer: 'map', type: 'seed', zoomStop: 0 });
  const task = (await (await fetch(`${url}/api/v1/tasks`, { method: 'POST', headers, body })).json()) as {
    id: number;
  };
  const state = async () => {
    const answer = await fetch(`${url}/api/v1/tasks/${task.id}`, { headers });
    return ((await answer.json()) as { state: string }).state;
  };
  await eventually('the task is done', state, (now) => now === 'done');
}

async function untilRead({ url, authorization }: RunningServer, name: string, least: number) {
  const pointsNow = async () => {
    const answer = await fetch(`${url}/api/v1/areas`, { headers: { authorization } });
    const { areas } = (await answer.json()) as { areas: readonly { name: string; points: number }[] };
    return areas.find((area) => area.name === name)?.points ?? 0;
  };
  await eventually(`the points of ${name}`, pointsNow, (points) => points >= least);
}

/** Residents grow with each kind that was read: each process keeps the shapes. */
function peakMemory({ pid }: RunningServer): number {
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

async function drawFirstTile({ url }: RunningServer, layer: string): Promise<void> {
  const answer = await fetch(`${url}/tiles/${layer}/0/0/0.png`);
  await answer.arrayBuffer();
  expect(answer.status).toBe(200);
}

describe.runIf(process.platform === 'linux')('areas of very many points', () => {
  it.each([
    ['geojson', 'file: a.geojson'],
    ['wkt', 'file: a.wkt'],
    ['geopackage', 'file: a.gpkg, table: zones'],
  ])(
    'an area in a file (%s) is read again and drawn in short turns of the event loop',
    async (kind, place) => {
      const write = WRITERS[kind];
      write?.(10);
      const { server, longestTurn } = await configuredServer({ [kind]: place });
      await untilRead(server, kind, 10);
      await drawFirstTile(server, kind);
      write?.(POINTS);
      await longestTurn();
      if (kind !== 'geopackage') await reloadOverHttp(server);
      await untilRead(server, kind, POINTS);
      await drawFirstTile(server, kind);
      expect(await longestTurn()).toBeLessThan(MAX_TURN_MS);
      expect(peakMemory(server)).toBeLessThan(MAX_MEMORY);
      await server.stop();
    },
  );

  it.each([
    ['one process', 1, reloadBySignal],
    ['several processes', 2, reloadOverHttp],
  ] as const)(
    'areas in the configuration file are read again in short turns by %s and a worker',
    async (_, processes, reload) => {
      const meters = temporaryFolder();
      const config = inFolder('shapes.yaml');
      const write = (all: number) => {
        const points = all / 2;
        WRITERS.geojson?.(points);
        const inline = `{ name: inline, wkt: 'POLYGON ((${ring(points)}))' }`;
        const layer = `{ name: map, source: { type: world }, within: inline, gridSets: [EPSG:900913] }`;
        const areas = `areas:\n  - ${inline}\n  - { name: file, file: a.geojson }\n`;
        writeFileSync(config, `tasks: { workers: 1 }\n${areas}layers:\n  - ${layer}\n`);
      };
      write(10);
      const args = ['--config', config, '--processes', String(processes)];
      const env = { NODE_OPTIONS: `--import ${METER}`, TURN_METERS: meters };
      const server = await startServer({ args, env });
      await seedOnce(server);
      const turns = (): Promise<readonly number[]> =>
        Promise.all(readdirSync(meters).map((pid) => longestTurnOf(join(meters, pid))));
      // The processes that answer, their parent, and the worker.
      expect(await turns()).toHaveLength(processes === 1 ? 2 : processes + 2);
      // A full collection of garbage may fall into the turns of one reload.
      const rounds: (readonly number[])[] = [];
      for (const more of [0, 1, 2]) {
        write(POINTS + 2 * more);
        await reload(server);
        for (const name of ['inline', 'file']) await untilRead(server, name, POINTS / 2 + more);
        rounds.push(await turns());
      }
      const least = rounds[0]?.map((_, at) => Math.min(...rounds.map((all) => all[at] ?? Infinity))) ?? [];
      for (const turn of least) expect(turn).toBeLessThan(MAX_TURN_MS);
      await server.stop();
    },
  );

  describe('in PostGIS', needs('postgis'), () => {
    let cluster: PostgresCluster;

    beforeAll(async () => {
      cluster = await openTestPostgis();
    });

    afterAll(() => cluster?.close());

    it('an area of a query is read again and drawn in short turns of the event loop', async () => {
      const circle = (points: number) =>
        `select st_makepolygon(st_makeline(array_agg(st_makepoint(70 * cosd(360.0 * (i % ${points}) / ${points}), 35 * sind(360.0 * (i % ${points}) / ${points})) order by i))) geom from generate_series(0, ${points}) i`;
      await statement(cluster.address, `create table zones as ${circle(10)}`);
      const query = `url: '${cluster.address}', query: 'select st_setsrid(geom, 4326) from zones', every: 1`;
      const { server, longestTurn } = await configuredServer({ zones: `postgres: { ${query} }` });
      await untilRead(server, 'zones', 10);
      await drawFirstTile(server, 'zones');
      await longestTurn();
      await statement(cluster.address, `create table large as ${circle(POINTS)}`);
      await statement(cluster.address, 'begin; drop table zones; alter table large rename to zones; commit');
      await untilRead(server, 'zones', POINTS);
      await drawFirstTile(server, 'zones');
      expect(await longestTurn()).toBeLessThan(MAX_TURN_MS);
      await server.stop();
    });
  });
});
