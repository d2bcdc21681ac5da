import { describe, expect, it } from 'vitest';
import type { MassTruncation } from '../../src/tasks/mass-truncation.ts';
import type { SelectionWork } from '../../src/tasks/selection-work.ts';
import { catalogOf, createTestApp, layerNamed } from '../fixtures/http-app.ts';
import { createPlannedTasks } from '../fixtures/task-app.ts';
import { addressOf, everyRoute } from './every-route.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const XML = { 'content-type': 'text/xml' };

/** Of tile sets: the layer's parameters are query fields. */
const TAKES_PARAMETERS = /\/(clients|coverage|tiles)\/\{gridSet\}/;

/** Records all calls that would change something. */
function openApp() {
  const changes: unknown[] = [];
  const note =
    <Result>(result: Result) =>
    async (...given: unknown[]) => {
      changes.push(given);
      return result;
    };
  const catalog = catalogOf([layerNamed('world')]);
  const tasks = createPlannedTasks((name) => catalog.layer(name));
  const massTruncation = { truncateParameters: note(undefined) } as unknown as MassTruncation;
  const selections = {
    truncate: note([]),
    invalidate: note({ marked: [], tasks: [] }),
    count: note([]),
  } as unknown as SelectionWork;
  const app = createTestApp({ deps: { catalog, tasks, massTruncation, selections } });
  const changed = async () => [...changes, ...(await tasks.list({ limit: 10 }))];
  return { ...app, changed };
}

/** Expects 400 with this in the text, and that nothing was changed. */
async function refuses(path: string, body: string, said: RegExp, headers: Record<string, string>) {
  const app = openApp();
  const answer = await app.request('POST', path, { headers, body });
  expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(said)]);
  expect(await app.changed()).toEqual([]);
}

describe('/api/v1 rejects empty, null and misspelt fields', () => {
  it.each([
    ['invalidate', '{"tiles":[]}', /tiles must have at least 1 entry/],
    ['invalidate', '{"tiles":null}', /tiles must be a list, got null/],
    ['invalidate', '{"gridSets":["EPSG:4327"]}', /no grid set EPSG:4327; it has EPSG:900913, EPSG:4326/],
    ['invalidate', '{"formats":["image/pgn"]}', /no format image\/pgn; it has image\/png, image\/jpeg/],
    ['truncate', '{"parameters":{"STYLES":null}}', /parameters\.STYLES must be text, got null/],
    ['truncate', '{"parameters":null}', /parameters must be an object, got null/],
    ['truncate', '{"parameters":{"STYLE":"dark"}}', /parameters\.STYLE is unknown; did you mean STYLES\?/],
    ['truncate', '{"parameters":{"STYLES":""}}', /parameters\.STYLES must not be empty/],
    ['truncate', '{"bounds":null}', /bounds must be a list, got null/],
    ['truncate', '{"bounds":[]}', /bounds must/],
    ['truncate', '{"area":null}', /area must be text or an object, got null/],
    ['truncate', '{"area":""}', /area must have at least 1 character/],
    ['truncate', '{"area":"nowhere"}', /area names nowhere, which is not declared/],
    ['truncate', '{"area":{"type":"Polygon","coordinates":[]}}', /area\.coordinates must have/],
    ['truncate', '{"zoomStart":null}', /zoomStart must be a number, got null/],
    ['truncate', '{"olderThan":null}', /olderThan must/],
    ['truncate', '{"zoomstart":8}', /zoomstart is not a field; did you mean zoomStart\?/],
    ['truncate', '{"dryRun":"true"}', /dryRun must be true or false, got "true"/],
  ])('POST …/%s rejects %s', (action, body, said) =>
    refuses(`/api/v1/layers/world/${action}`, body, said, JSON_TYPE),
  );

  it.each([
    ['{"type":"truncate","zoomstart":8}', /did you mean zoomStart\?/],
    [
      '{"layer":"world","type":"truncate","zoomstart":8}',
      /zoomstart is not a field; did you mean zoomStart\?/,
    ],
    ['{"layer":"world","type":"truncate","parameters":{"STYLE":"dark"}}', /did you mean STYLES\?/],
    ['{"layer":"world","type":"truncate","bounds":null}', /bounds must be a list, got null/],
    ['{"layer":"world","type":"trunkate"}', /type must be one of seed, reseed, truncate, got "trunkate"/],
    ['{"layer":"","type":"truncate"}', /layer must have at least 1 character/],
    ['{"layer":"world","type":"truncate","gridSet":""}', /gridSet must have at least 1 character/],
    ["{layer:'world',type:'truncate'}", /not JSON/],
  ])('POST /api/v1/tasks rejects %s', (body, said) => refuses('/api/v1/tasks', body, said, JSON_TYPE));

  it.each(
    everyRoute().flatMap(({ method, path, role }) =>
      path.startsWith('/api/') && role !== 'public' && !TAKES_PARAMETERS.test(path)
        ? [[method, addressOf(path, 'world')] as const]
        : [],
    ),
  )('%s %s rejects a misspelt query parameter', async (method, path) => {
    const app = openApp();
    const answer = await app.request(method, `${path}?dryrun=true`, { headers: JSON_TYPE, body: '{}' });
    expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/dryrun is not a field/)]);
    expect(await app.changed()).toEqual([]);
  });

  it('empty parameters mean the default combination, and absent ones every combination', async () => {
    const app = openApp();
    const path = '/api/v1/layers/world/truncate';
    for (const body of ['{"parameters":{}}', '{}']) {
      expect((await app.request('POST', path, { headers: JSON_TYPE, body })).status).toBe(200);
    }
    expect(await app.changed()).toEqual([
      ['world', { parametersId: null }],
      ['world', {}],
    ]);
  });
});

describe('the interface of GeoWebCache rejects empty, null and misspelt fields', () => {
  it.each([
    ['{"seedRequest":{"type":"truncate","bounds":[]}}', /bounds must .*not an empty list/],
    ['{"seedRequest":{"type":"truncate","bounds":null}}', /bounds must .*not null/],
    ['{"seedRequest":{"zoomStop":[],"type":[]}}', /zoomStop|type/],
    ['{"seedRequest":{"type":"truncate","gridSetId":""}}', /gridSetId must not be empty/],
    ['{"seedRequest":{"type":"truncate","gridSetId":{}}}', /gridSetId must be a text, not an empty object/],
    ['{"seedRequest":{"type":"truncate","format":""}}', /format must not be empty/],
    ['{"seedRequest":{"type":"truncate","zoomStart":""}}', /zoomStart must be a whole number/],
    ['{"seedRequest":{"type":"truncate","zoomStart":null}}', /zoomStart must .*not null/],
    ['{"seedRequest":{"type":"truncate","zoomstart":3}}', /zoomstart.*zoomStart/],
    ['{"seedRequest":{"type":"truncate"},"zoomStart":3}', /zoomStart/],
    ['{"seedRequest":{"type":"truncate","parameters":{"STYLE":"dark"}}}', /STYLE is unknown/],
    ['{"seedRequest":{"type":"truncate","parameters":[]}}', /parameters must .*not an empty list/],
    ['{"seedRequest":{"type":"truncate","parameters":null}}', /parameters must .*not null/],
    ['{"seedRequest":"all"}', /seedRequest must not be the text "all"/],
    ['{"seedRequest":[]}', /seedRequest must not be an empty list/],
    ['{"seedRequest":null}', /seedRequest must not be null/],
  ])('POST /rest/seed/world.json rejects %s', (body, said) =>
    refuses('/rest/seed/world.json', body, said, JSON_TYPE),
  );

  it.each([
    ['<seedRequest>all</seedRequest>', /seedRequest must not be the text "all"/],
    ['<seedRequest><type>truncate</type><gridSetId/></seedRequest>', /gridSetId must not be empty/],
    ['<seedRequest><type>truncate</type><zoomstart>8</zoomstart></seedRequest>', /zoomstart.*zoomStart/],
    ['<seedRequest><type>truncate</type><bounds/></seedRequest>', /bounds must/],
    ['<seedRequest><type>truncate</type><parameters/></seedRequest>', /parameters must have entries/],
  ])('POST /rest/seed/world.xml rejects %s', (body, said) =>
    refuses('/rest/seed/world.xml', body, said, XML),
  );

  it('a seed request without a removal ignores unknown fields', async () => {
    const app = openApp();
    const body = '{"seedRequest":{"type":"seed","zoomStop":1,"colour":null}}';
    expect((await app.request('POST', '/rest/seed/world.json', { headers: JSON_TYPE, body })).status).toBe(
      200,
    );
  });

  it.each([['<truncateLayer><layerName/></truncateLayer>', /layerName must not be empty/]])(
    'POST /masstruncate rejects %s',
    (body, said) => refuses('/masstruncate', body, said, XML),
  );
});
