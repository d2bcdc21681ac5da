import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed, type TestApp } from '../../../test/fixtures/http-app.ts';
import { openTestDatabase } from '../../../test/fixtures/test-database.ts';
import { createBlankAreas } from '../../catalog/blank-areas.ts';
import type { Database } from '../../db/database.ts';
import { systemClock } from '../../lib/clock.ts';
import { BlankSuspects } from '../../pipeline/blank-watch.ts';

const PATH = '/api/v1/layers/world/blank-areas';
const rect = { minX: 16, minY: 8, maxX: 17, maxY: 9 };
const TILES = ['5/16/8', '5/17/8', '5/16/9', '5/17/9'];

let folder: string;
let database: Database;
let app: TestApp;
let suspects: BlankSuspects;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tilewarden-blank-'));
  database = await openTestDatabase(folder);
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await database.transaction('blank-areas', (query) => query.deleteFrom('blank_areas').execute());
  suspects = new BlankSuspects(systemClock);
  const declared = { gridSet: null, zoomStart: 11, zoomStop: 30, area: null };
  app = createTestApp({
    deps: {
      catalog: catalogOf([layerNamed('world', { blankAreas: [declared] }), layerNamed('roads')]),
      blankAreas: createBlankAreas(database, systemClock),
      blankSuspects: suspects,
    },
  });
  const set = { layer: 'world', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  suspects.note({ set, z: 5, rect, refused: false });
});

const post = async (body: object, path = PATH) => {
  const headers = { 'content-type': 'application/json' };
  const answer = await app.request('POST', path, { headers, body: JSON.stringify(body) });
  return { ...answer, json: answer.status === 201 ? JSON.parse(answer.text) : null };
};
const list = async (path = PATH) => JSON.parse((await app.request('GET', path)).text);

describe('saying that blank is right here', () => {
  it('blank areas list suspects in the form of a request, until they are confirmed', async () => {
    const before = await list();
    expect(before.suspects).toMatchObject([
      { gridSet: 'EPSG:900913', z: 5, tiles: TILES, format: 'image/png', times: 1, refused: false },
    ]);
    const [{ gridSet, tiles }] = before.suspects;
    const { status, headers, json } = await post({ gridSet, tiles, note: 'the survey ends here' });
    expect(status).toBe(201);
    expect(headers.location).toMatch(new RegExp(`${PATH}/${json.id}$`));
    expect(json).toMatchObject({
      zoomStart: 5,
      zoomStop: 5,
      note: 'the survey ends here',
      origin: 'interface',
    });
    const after = await list();
    expect(after.suspects).toEqual([]);
    expect(after.areas).toMatchObject([
      { id: null, origin: 'configuration', zoomStart: 11 },
      { id: json.id },
    ]);
    expect((await list('/api/v1/layers/roads/blank-areas')).areas).toEqual([]);
  });

  it('a blank area is removed again', async () => {
    const { json } = await post({ gridSet: 'EPSG:3857', bounds: [0, 0, 2e7, 2e7], zoomStart: 3 });
    expect((await list()).suspects).toEqual([]);
    expect((await app.request('DELETE', `/api/v1/layers/roads/blank-areas/${json.id}`)).status).toBe(404);
    expect((await app.request('DELETE', `${PATH}/${json.id}`)).status).toBe(204);
    expect((await list()).areas).toHaveLength(1);
    expect((await list()).suspects).toHaveLength(1);
    expect((await app.request('DELETE', `${PATH}/${json.id}`)).status).toBe(404);
  });

  it('a blank area is GeoJSON, in degrees for every grid set', async () => {
    const ring = [
      [0, 0],
      [40, 0],
      [40, 80],
      [0, 80],
      [0, 0],
    ];
    const { status, json } = await post({ area: { type: 'Polygon', coordinates: [ring] } });
    expect(status).toBe(201);
    expect(json).toMatchObject({ gridSet: null, zoomStart: 0, zoomStop: 30, areaCrs: 'EPSG:4326' });
    expect((await list()).suspects).toEqual([]);
  });

  it.each([
    [{}, 'Give at least one of'],
    [{ note: 'x' }, 'Give at least one of'],
    [{ bounds: [0, 0, 1, 1] }, 'gridSet must be given with bounds'],
    [{ gridSet: 'EPSG:900913', bounds: [1, 0, 0, 1] }, 'bounds must be'],
    [{ gridSet: 'EPSG:900913', bounds: [0, 0, 1] }, 'bounds'],
    [{ gridSet: 'mars', zoomStart: 1 }, 'no grid set mars'],
    [{ tiles: ['1/0/0'] }, 'gridSet must be given with tiles'],
    [{ gridSet: 'EPSG:900913', tiles: ['1/2/0'] }, 'tiles must be z/x/y'],
    [{ gridSet: 'EPSG:900913', tiles: ['1/0/0', '2/0/0'] }, 'tiles must be of one zoom'],
    [{ gridSet: 'EPSG:900913', tiles: ['1/0/0'], bounds: [0, 0, 1, 1] }, 'exclude each other'],
    [{ zoomStart: 5, zoomStop: 4 }, 'zoomStart must not be above zoomStop'],
    [{ zoomStart: 31 }, 'zoomStart must be at most 30, got 31'],
    [{ zoomStart: 1, formats: ['image/png'] }, 'formats is not a field'],
    [{ area: { type: 'Point', coordinates: [0, 0] } }, 'area.type must be one of Polygon'],
    [
      {
        area: {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [1, 1],
            ],
          ],
        },
      },
      'coordinates[0] must have at least 3 entries',
    ],
    [{ zoomStart: 1, note: 'x'.repeat(501) }, 'note must have at most 500 characters'],
  ])('a blank area of %j is refused and changes nothing', async (body, message) => {
    const { status, text } = await post(body);
    expect([status, text]).toEqual([400, expect.stringContaining(message)]);
    expect((await list()).areas).toHaveLength(1);
  });

  it('blank areas have a maximum for each layer', async () => {
    for (let i = 0; i < 200; i++) expect((await post({ zoomStart: 20 })).status).toBe(201);
    expect((await post({ zoomStart: 20 })).text).toContain('has 200 areas already');
  });
});
