import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { openTestPostgis, type PostgresCluster, statement } from '../fixtures/databases.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type RunningServer, startServer } from './server.ts';

type Box = readonly [number, number, number, number];

const WEST: Box = [-80, -80, -1, 80];
const EAST: Box = [1, -80, 80, 80];
/** In the tile 2/0/1. */
const FAR_WEST: Box = [-170, 1, -91, 60];

/** The first requests may come before the area was read. */
const expectedLog = /could not be read/;
const folder = temporaryFolder();
const config = join(folder, 'tilewarden.yaml');
const geoPackage = join(folder, 'zones.gpkg');

const ringOf = ([minX, minY, maxX, maxY]: Box): readonly (readonly [number, number])[] => [
  [minX, minY],
  [maxX, minY],
  [maxX, maxY],
  [minX, maxY],
  [minX, minY],
];

/** OGC 12-128r18, 2.1.3. */
function geometryOf(box: Box): Buffer {
  const ring = ringOf(box);
  const bytes = Buffer.alloc(8 + 13 + 16 * ring.length);
  bytes.write('GP', 0, 'latin1');
  bytes.writeUInt8(1, 3);
  bytes.writeInt32LE(4326, 4);
  bytes.writeUInt8(1, 8);
  bytes.writeUInt32LE(3, 9);
  bytes.writeUInt32LE(1, 13);
  bytes.writeUInt32LE(ring.length, 17);
  for (const [i, [x, y]] of ring.entries()) {
    bytes.writeDoubleLE(x, 21 + 16 * i);
    bytes.writeDoubleLE(y, 29 + 16 * i);
  }
  return bytes;
}

function writeGeoPackage(...boxes: readonly Box[]): void {
  const fresh = `${geoPackage}.new`;
  rmSync(fresh, { force: true });
  const db = new Database(fresh);
  db.exec('create table gpkg_geometry_columns (table_name text, column_name text, srs_id integer)');
  db.exec("insert into gpkg_geometry_columns values ('zones', 'geom', 4326)");
  db.exec('create table zones (fid integer primary key, geom blob)');
  for (const box of boxes) db.prepare('insert into zones (geom) values (?)').run(geometryOf(box));
  db.close();
  renameSync(fresh, geoPackage);
}

const layerOf = (name: string, area: string) =>
  `  - { name: ${name}, source: { type: world }, within: ${area}, gridSets: [{ name: EPSG:900913, zoomStop: 4 }], metatile: [1, 1] }\n`;

function configure(areas: readonly string[], layers: readonly string[], groups = ''): void {
  writeFileSync(
    config,
    `areas:\n${areas.map((area) => `  - ${area}\n`).join('')}${groups}layers:\n${layers.join('')}`,
  );
}

/** Opacity at 25° W and at 31° E on the equator. */
async function halves({ url }: RunningServer, layer: string): Promise<readonly number[] | number> {
  const answer = await fetch(`${url}/tiles/${layer}/0/0/0.png`);
  if (answer.status !== 200) return answer.status;
  const { pixels, width } = await decodeImage(Buffer.from(await answer.arrayBuffer()), { maxPixels: 1e6 });
  return [110, 150].map((column) => pixels[4 * (128 * width + column) + 3] ?? -1);
}

const cacheOf = async ({ url }: RunningServer, tile: string) =>
  (await fetch(`${url}/tiles/${tile}`)).headers.get('x-cache');

async function areasOf({ url, authorization }: RunningServer) {
  const answer = await fetch(`${url}/api/v1/areas`, { headers: { authorization } });
  const { areas } = (await answer.json()) as {
    areas: readonly { name: string; error: string | null; points: number }[];
  };
  return areas;
}

const untilHalves = (server: RunningServer, layer: string, wanted: readonly number[]) =>
  eventually(
    `${layer} shows ${wanted}`,
    () => halves(server, layer),
    (now) => `${now}` === `${wanted}`,
  );

describe('areas that are read again', () => {
  it('a GeoPackage table is an area, its changes reach the tiles there, and its last shape survives it', async () => {
    writeGeoPackage(FAR_WEST, WEST);
    configure([`{ name: zones, file: zones.gpkg, table: zones }`], [layerOf('map', 'zones')]);
    const data = temporaryFolder();
    const server = await startServer({ args: ['--config', config], data, expectedLog });
    await untilHalves(server, 'map', [255, 0]);
    for (const tile of ['map/2/0/1.png', 'map/2/3/1.png', 'map/2/2/1.png']) {
      await cacheOf(server, tile);
      await eventually(
        tile,
        () => cacheOf(server, tile),
        (cache) => cache === 'HIT',
      );
    }
    writeGeoPackage(FAR_WEST, EAST);
    await untilHalves(server, 'map', [0, 255]);
    expect(await cacheOf(server, 'map/2/0/1.png')).toBe('HIT');
    rmSync(geoPackage);
    const failing = await eventually(
      'the failure',
      () => areasOf(server),
      ([area]) => area?.error !== null,
    );
    expect(failing[0]).toMatchObject({ name: 'zones', points: 10 });
    expect(await halves(server, 'map')).toEqual([0, 255]);
    await server.stop();
    const again = await startServer({ args: ['--config', config], data, expectedLog });
    expect(await halves(again, 'map')).toEqual([0, 255]);
    await again.stop();
  });

  it('areas and groups of the file are reloaded, and unknown areas are refused by name', async () => {
    const area = (box: Box) => `{ name: half, bounds: [${box}] }`;
    configure([area(WEST)], [layerOf('map', 'half')]);
    const server = await startServer({ args: ['--config', config] });
    expect(await halves(server, 'map')).toEqual([255, 0]);
    configure([area(EAST)], [layerOf('map', 'half')], 'groups: [{ name: all, layers: [map] }]\n');
    const reload = () =>
      fetch(`${server.url}/rest/reload`, {
        method: 'POST',
        headers: { authorization: server.authorization, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'reload_configuration=1',
      });
    expect((await reload()).status).toBe(200);
    expect(await halves(server, 'map')).toEqual([0, 255]);
    const capabilities = await (await fetch(`${server.url}/service/wms?REQUEST=GetCapabilities`)).text();
    expect(capabilities).toContain('<Name>all</Name>');
    await server.stop();
  });
});

describe('areas in PostGIS', needs('postgis'), () => {
  let cluster: PostgresCluster;
  beforeAll(async () => {
    cluster = await openTestPostgis();
  });
  afterAll(() => cluster.close());

  it('a query is an area in the CRS of its geometries, and is read at its interval', async () => {
    const put = (box: Box) =>
      statement(
        cluster.address,
        `create table if not exists licence (geom geometry); delete from licence;
         insert into licence values (st_transform(st_makeenvelope(${box}, 4326), 3857)), (null)`,
      );
    await put(WEST);
    const query = 'select geom from licence';
    configure(
      [`{ name: licence, postgres: { url: '${cluster.address}', query: '${query}', every: 1 } }`],
      [layerOf('map', 'licence')],
    );
    const server = await startServer({ args: ['--config', config], expectedLog });
    await untilHalves(server, 'map', [255, 0]);
    await put(EAST);
    await untilHalves(server, 'map', [0, 255]);
    await server.stop();
  });
});
