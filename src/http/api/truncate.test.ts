import { expect, it } from 'vitest';
import { createTestApp } from '../../../test/fixtures/http-app.ts';
import type { SelectionWork } from '../../tasks/selection-work.ts';

const set = { layer: 'world', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };

function openApp() {
  const calls: unknown[] = [];
  const note =
    (verb: string) =>
    async (...parameters: unknown[]) => {
      calls.push([verb, ...parameters]);
      return [{ set, tiles: 3, bytes: 300 }];
    };
  const selections = { count: note('count'), truncate: note('truncate') } as unknown as SelectionWork;
  const app = createTestApp({ deps: { selections } });
  const post = (body: string, layer = 'world') =>
    app.request('POST', `/api/v1/layers/${layer}/truncate`, {
      headers: { 'content-type': 'application/json' },
      body,
    });
  return { calls, post };
}

it('truncating removes the selection and reports it', async () => {
  const { calls, post } = openApp();
  const answer = await post(
    '{"gridSets":["EPSG:4326"],"formats":["image/png"],"parameters":{"STYLES":"light"},"zoomStart":2,"zoomStop":5,"bounds":[-10,-5,10,5],"olderThan":"2026-01-01T00:00:00Z","dryRun":true}',
  );
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toEqual({
    layer: 'world',
    dryRun: true,
    tiles: 3,
    bytes: 300,
    tileSets: [{ gridSet: 'EPSG:4326', format: 'image/png', parametersId: null, tiles: 3, bytes: 300 }],
  });
  const selection = {
    gridSets: ['EPSG:4326'],
    formats: ['image/png'],
    parametersId: null,
    zoomStart: 2,
    zoomStop: 5,
    bounds: { minX: -10, minY: -5, maxX: 10, maxY: 5 },
    olderThan: Date.UTC(2026, 0, 1),
  };
  expect(calls).toEqual([['count', 'world', selection]]);
});

it('truncating takes an empty object for the whole layer, and refuses an empty body', async () => {
  const { calls, post } = openApp();
  expect((await post('')).status).toBe(400);
  expect((await post('{}')).status).toBe(200);
  expect(calls).toEqual([['truncate', 'world', {}]]);
});

it('truncating finds a grid set by its other names, and takes names that the layer lacks as they are', async () => {
  const { calls, post } = openApp();
  expect((await post('{"gridSets":["EPSG:3857","of yesterday"]}')).status).toBe(200);
  expect(calls).toEqual([['truncate', 'world', { gridSets: ['EPSG:900913', 'of yesterday'] }]]);
});

it('truncating takes a polygon, in longitude and latitude by default', async () => {
  const { calls, post } = openApp();
  const ring = [
    [0, 0],
    [10, 0],
    [10, 10],
    [0, 0],
  ];
  const area = { type: 'Polygon', coordinates: [ring] };
  expect((await post(JSON.stringify({ gridSets: ['EPSG:4326'], area }))).status).toBe(200);
  const selection = { gridSets: ['EPSG:4326'], area: { polygons: [[ring]], crs: 'EPSG:4326' } };
  expect(calls).toEqual([['truncate', 'world', selection]]);
});

it.each([
  ['{"zoomstart":3}', 400],
  ['{"zoomStart":5,"zoomStop":4}', 400],
  ['{"zoomStop":-1}', 400],
  ['{"gridSets":[]}', 400],
  ['{"formats": [ ]}', 400],
  ['{"area":{"type":"Point","coordinates":[1,2]}}', 400],
  ['{"area":{"type":"Polygon","coordinates":[[[0,0],[1,1]]]}}', 400],
  ['{"area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"areaCrs":"EPSG:25832"}', 400],
  ['{"bounds":[1,2,3]}', 400],
  ['{"bounds":[5,0,1,1]}', 400],
  ['{"bounds":[0,0,1,1],"gridSets":["of yesterday"]}', 400],
  ['{"olderThan":"yesterday"}', 400],
  ['{"dryRun":"perhaps"}', 400],
  ['{"parameters":{"STYLES":"plaid"}}', 400],
  ['[]', 400],
])('truncating refuses %s', async (body, status) => {
  const { calls, post } = openApp();
  expect((await post(body)).status).toBe(status);
  expect(calls).toEqual([]);
});

it('truncating an undeclared layer is a 404', async () => {
  expect((await openApp().post('{}', 'nowhere')).status).toBe(404);
});
