import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changesSql } from '../../src/changes/feeds/changes-sql.ts';
import { openTestPostgis, statement } from '../fixtures/databases.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength, randomSeed } from '../fixtures/length.ts';
import { openMapServer } from '../fixtures/mapserver.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { type RunningServer, startServer } from './server.ts';
import { openServer } from './server-in-process.ts';

const TABLE = 'public.tile_changes';
/** Tiles around Zurich: zooms 6 to 9 of web mercator, and two of EPSG:4326. */
const TILES = [
  ...block(6, 33, 22, 1),
  ...block(7, 66, 44, 2),
  ...block(8, 133, 88, 2),
  ...block(9, 267, 178, 3),
  ...['EPSG:4326/6/67/15.png', 'EPSG:4326/7/134/30.png', 'EPSG:4326/7/134/31.png'],
];

function block(z: number, x: number, y: number, size: number): readonly string[] {
  const places = Array.from({ length: size * size }, (_, i) => [x + (i % size), y + Math.floor(i / size)]);
  return places.map(([column, row]) => `${z}/${column}/${row}.png`);
}

/** Outlines and symbols reach beyond the geometry, and an edit below others is seen. */
function mapFile(address: string): string {
  const { port, username, password } = new URL(address);
  const connection = `CONNECTIONTYPE POSTGIS CONNECTION "host=127.0.0.1 port=${port} user=${username} password=${password} dbname=postgres"`;
  const layer = (type: string, style: string) => `  LAYER NAME "parcels" TYPE ${type} STATUS ON ${connection}
    DATA "geom from (select * from parcels where geometrytype(geom) = '${type}') as some_parcels using unique id using srid=4326"
    PROJECTION "init=epsg:4326" END METADATA "wms_title" "Parcels" END
    CLASS STYLE ${style} END END END`;
  return `MAP NAME "gis" EXTENT -180 -90 180 90 SIZE 256 256 MAXSIZE 4096 IMAGETYPE "png"
  PROJECTION "init=epsg:4326" END
  SYMBOL NAME "dot" TYPE ELLIPSE FILLED TRUE POINTS 1 1 END END
  OUTPUTFORMAT NAME "png" MIMETYPE "image/png" DRIVER "AGG/PNG" IMAGEMODE RGBA TRANSPARENT ON END
  WEB METADATA "wms_title" "GIS" "wms_srs" "EPSG:4326 EPSG:3857" "wms_enable_request" "*" END END
${layer('POLYGON', 'COLOR 200 60 60 OUTLINECOLOR 0 0 0 WIDTH 4 OPACITY 50')}
${layer('POINT', 'SYMBOL "dot" SIZE 20 COLOR 20 60 200 OPACITY 50').replace('"parcels" TYPE', '"dots" TYPE')}
END`;
}

function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const randomX = (random: () => number) => 7.8 + random() * 1.4;
const randomY = (random: () => number) => 46.9 + random();

function insertion(random: () => number): string {
  const [x, y, size] = [randomX(random), randomY(random), 0.01 + random() * 0.2];
  return `insert into parcels (geom) values (st_makeenvelope(${x}, ${y}, ${x + size}, ${y + size}, 4326))`;
}

/** An edit of some rows in one statement. */
function randomEdit(random: () => number): string {
  const [x, y] = [randomX(random), randomY(random)];
  const edits = [
    insertion(random),
    `insert into parcels (geom) values (st_setsrid(st_makepoint(${x}, ${y}), 4326))`,
    `update parcels set geom = st_translate(geom, ${random() - 0.5}, 0.1) where id = (select max(id) from parcels)`,
    `delete from parcels where id = (select min(id) from parcels)`,
    `begin; insert into parcels (geom) select st_setsrid(st_makepoint(${x} + n * 0.01, ${y}), 4326) from generate_series(1, 20) as n; commit`,
    ...(random() < 0.1 ? ['truncate parcels'] : []),
  ];
  return edits[Math.floor(random() * edits.length)] ?? '';
}

type Callee = Pick<RunningServer, 'url'>;

async function tile(server: Callee, path: string, layer = 'parcels'): Promise<string> {
  return (await tileResponse(server, path, layer)).picture;
}

async function tileResponse(server: Callee, path: string, layer = 'parcels') {
  const answer = await fetch(`${server.url}/tiles/${layer}/${path}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.status, bytes.toString('latin1')).toBe(200);
  return { picture: bytes.toString('base64'), isMade: answer.headers.get('x-cache') === 'MISS' };
}

describe('PostGIS and MapServer', needs('postgis', 'mapserver'), () => {
  it('cached tiles equal fresh ones after edits in PostGIS and kills of server and database', async () => {
    const seed = randomSeed();
    const random = createRandom(seed);
    const postgis = await openTestPostgis();
    whenOver(() => postgis.close());
    const mapServer = await openMapServer(programPath('mapserver'), mapFile(postgis.address));
    whenOver(() => mapServer.close());
    const sql = changesSql({ source: 'public.parcels', geometry: 'geom', table: TABLE, layer: 'parcels' });
    await statement(
      postgis.address,
      'create table parcels (id serial primary key, geom geometry(geometry, 4326))',
    );
    await statement(postgis.address, sql);
    await statement(postgis.address, sql);
    const data = join(temporaryFolder(), 'data');
    mkdirSync(data);
    const layer = `source: { type: wms, url: '${mapServer.url}', layers: 'parcels,dots', transparent: true },
      formats: [image/png], gridSets: [EPSG:900913, EPSG:4326], metatile: [1, 1], gutter: 11`;
    const config = `layers:
  - { name: parcels, ${layer} }
  - { name: fresh, ${layer}, expireCache: -1 }
changes:
  - { name: edits, type: postgres, url: '${postgis.address}', table: ${TABLE}, layers: [parcels], buffer: 11 }
`;
    const settings = { config, data, expectedLog: /change feed|upstream/ };
    let victim: RunningServer = await startServer(settings);
    let server: Callee = victim;
    const read = async () => {
      const some = TILES.filter(() => random() < 0.3);
      for (const path of some) await tile(server, path);
    };
    for (let n = 0; n < 5; n++) await statement(postgis.address, insertion(random));
    for (const path of TILES) await tile(server, path);
    for (let rounds = inLength(1, 20); rounds > 0; rounds--) {
      for (let n = 0; n < inLength(4, 20); n++) await statement(postgis.address, randomEdit(random));
      await read();
      await victim.kill();
      await statement(postgis.address, randomEdit(random));
      if (rounds > 1) victim = await startServer(settings);
      server = rounds > 1 ? victim : await openServer(settings);
      await read();
      await postgis.crash();
      await statement(postgis.address, randomEdit(random));
      await read();
    }
    for (let n = 0; n < 3; n++) await statement(postgis.address, insertion(random));
    const waiting = async () => (await statement(postgis.address, `select from ${TABLE}`)).rowCount;
    await eventually('every change is applied', waiting, (rows) => rows === 0);
    const different: string[] = [];
    const pictures = new Set<string>();
    for (const path of TILES) {
      const [kept, fresh] = [await tile(server, path), await tile(server, path, 'fresh')];
      if (kept !== fresh) different.push(path);
      pictures.add(fresh);
    }
    expect(different, `TEST_SEED=${seed}`).toEqual([]);
    expect(pictures.size).toBeGreaterThan(5);
    const { made, changed } = await requestsFor(inLength(2, 100));
    // The buffer is a little wider than symbols and outlines are, and a TRUNCATE of the table concerns the whole layer.
    expect(made, `TEST_SEED=${seed}, ${changed} changed`).toBeLessThanOrEqual(
      1.2 * changed + inLength(20, 0),
    );

    /** Requests to the map server, which has one tile in each, and tiles whose picture has changed, over some edits. */
    async function requestsFor(edits: number) {
      const sum = { made: 0, changed: 0 };
      for (let n = 0; n < edits; n++) {
        const before = new Map<string, string>();
        for (const path of TILES) before.set(path, await tile(server, path));
        await statement(postgis.address, randomEdit(random));
        await eventually('the edit is applied', waiting, (rows) => rows === 0);
        for (const path of TILES) {
          const { picture, isMade } = await tileResponse(server, path);
          if (isMade) sum.made++;
          if (picture !== before.get(path)) sum.changed++;
        }
      }
      return sum;
    }
  });
});
