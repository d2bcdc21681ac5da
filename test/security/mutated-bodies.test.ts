import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { GWC_ROUTES } from '../../src/http/gwc/gwc-routes.ts';
import { type OpenServer, openServer } from '../e2e/server-in-process.ts';
import { eventually, untilStored } from '../fixtures/eventually.ts';
import { inLength } from '../fixtures/length.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import {
  JSON_BODIES,
  KEPT_SCHEDULE,
  KEPT_USER,
  mutations,
  REST_BODIES,
  TASK,
  xmlOf,
} from './mutated-bodies.ts';

const LAYER = `
  - name: NAME
    source: { type: world }
    formats: [image/png, image/jpeg]
    gridSets: [{ name: EPSG:4326, zoomStop: 4 }, { name: EPSG:900913, zoomStop: 4 }]
    parameters: [{ name: STYLES, default: light, values: [light, dark] }]
    metatile: [1, 1]
`;
let server: OpenServer;
/** The state before all tests, which each of them leaves as it is. */
let before: object;

async function ask(method: string, path: string, body?: string, type = 'application/json') {
  const init = body === undefined ? { method } : { method, body, headers: { 'content-type': type } };
  const answer = await fetch(new URL(path, server.url), init);
  return { status: answer.status, text: await answer.text() };
}

/** Everything that an error could change, as shown over HTTP, without times of renewals and finished tasks. */
async function everything(): Promise<object> {
  // Names of parameters mean the same in either case.
  const read = async (path: string) =>
    JSON.parse((await ask('GET', path)).text.replaceAll(/"styles":/gi, '"STYLES":'));
  const { layers } = await read('/api/v1/usage');
  return {
    tiles: layers.map(({ name, tiles }: { name: string; tiles: number }) => [name, tiles]),
    quota: await read('/api/v1/quota'),
    users: (await read('/api/v1/users')).users.map(partOf(['name', 'role', 'layers'])),
    tokens: await read('/api/v1/tokens'),
    keys: await read('/api/v1/keys'),
    schedules: (await read('/api/v1/schedules')).schedules.map(partOf(Object.keys(TASK))),
    declared: [layers.length, (await read('/api/v1/layers')).layers.length],
  };
}

function partOf(names: readonly string[]): (thing: Record<string, unknown>) => object {
  return (thing) => names.map((name) => thing[name]);
}

/** Tiles of every kind but the one that the valid bodies select: `a`, EPSG:4326, png, dark, zoom 3, north-east. */
beforeAll(async () => {
  server = await openServer({
    config: `layers:${LAYER.replace('NAME', 'a')}${LAYER.replace('NAME', 'b')}`,
    // Without the token of other tests, which `undo` would revoke.
    data: temporaryFolder(),
    flags: { 'no-auth': 'true' },
  });
  for (const tile of [
    'a/EPSG:4326/2/0/0.png?STYLES=dark',
    'a/EPSG:4326/3/0/7.png?STYLES=dark',
    'a/EPSG:4326/3/15/0.png?STYLES=light',
    'a/EPSG:4326/3/15/0.jpeg?STYLES=dark',
    'a/EPSG:900913/3/7/1.png?STYLES=dark',
    'b/EPSG:4326/3/15/0.png?STYLES=dark',
  ]) {
    expect((await ask('GET', `/tiles/${tile}`)).status).toBe(200);
  }
  expect((await ask('POST', '/api/v1/users', JSON.stringify(KEPT_USER))).status).toBe(201);
  expect((await ask('POST', '/api/v1/schedules', JSON.stringify(KEPT_SCHEDULE))).status).toBe(201);
  await eventually('the tiles are counted', async () => {
    const { layers } = JSON.parse((await ask('GET', '/api/v1/usage')).text);
    return layers.length === 2 && layers.every((layer: { tiles: number }) => layer.tiles > 0);
  });
  await untilStored(server);
  before = await everything();
});

/** Waits until no task is left. */
async function untilNoTaskIsLeft(): Promise<void> {
  await eventually('no task is left', async () => {
    const { tasks } = JSON.parse((await ask('GET', '/api/v1/tasks?state=pending,running')).text);
    return tasks.length === 0;
  });
}

it.each([...JSON_BODIES, ...REST_BODIES])(
  '$method $path with a mutated body changes nothing beyond that body',
  async (route) => {
    const asXml = route.path.endsWith('.xml') || route.path === '/masstruncate';
    const run = async (body: unknown) => {
      const text = asXml ? xmlOf(body) : JSON.stringify(body);
      const answer = await ask(route.method, route.path, text, asXml ? 'text/xml' : 'application/json');
      const done = answer.status < 400;
      if (done) await route.undo?.(ask);
      if (done) await untilNoTaskIsLeft();
      const selected = done && route.selectsNothing ? JSON.parse(answer.text).tiles : 0;
      expect([text, answer.status < 500, selected, await everything()]).toEqual([text, true, 0, before]);
    };
    await fc.assert(fc.asyncProperty(mutations(route), run), {
      numRuns: inLength(2, 300),
      endOnFailure: true,
    });
  },
);

it('every changing route of GeoWebCache with a body has an example here', () => {
  // Forms, and resources of the configuration file only. Those of /api/v1 are checked by their types.
  const others = /\/rest\/(seed|seed\/\{layer\}|reload)$|\/rest\/(filter|blobstores)/;
  const changing = GWC_ROUTES.filter(({ shape }) => shape.bodyTypes)
    .map(({ name }) => name)
    .filter((name) => !others.test(name));
  const tried = new Set(REST_BODIES.map(({ method, route }) => `${method} ${route}`));
  // The same handlers under another path.
  const aliased = (name: string) =>
    name
      .replace(/^POST (\/rest\/layers)/, 'PUT $1')
      .replace(/(\/rest\/(layers\/\{layer\}|gridsets\/\{gridSet\}|global))$/, '$1.xml')
      .replace(/ (\/rest)?\/masstruncate\/?$/, ' /masstruncate')
      .replace(/ \/rest\/diskquota$/, ' /diskquota.xml')
      .replace(' /rest/diskquota', ' /diskquota');
  expect(changing.filter((name) => !tried.has(aliased(name)))).toEqual([]);
});
