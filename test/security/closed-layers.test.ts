import { expect, it } from 'vitest';
import { createAccountAccess } from '../../src/http/auth/access.ts';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../fixtures/accounts.ts';
import { catalogOf, createTestApp, layerNamed, type Read, tileResponse } from '../fixtures/http-app.ts';
import { addressOf, everyRoute } from './every-route.ts';

const CLOSED = 'closed-to-strangers';
const PLACE = 'FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:0&TILEROW=0&TILECOL=0';
const BOX =
  'SRS=EPSG:900913&BBOX=-20037508.34,-20037508.34,20037508.34,20037508.34&WIDTH=256&HEIGHT=256&FORMAT=image/png';

/** Queries of services that have the layer there and not in the path. */
const QUERIES = [
  '',
  '?SERVICE=WMTS&REQUEST=GetCapabilities',
  `?SERVICE=WMTS&REQUEST=GetCapabilities&LAYER=${CLOSED}`,
  `?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile&LAYER=${CLOSED}&${PLACE}`,
  '?SERVICE=WMS&REQUEST=GetCapabilities&TILED=true',
  `?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=${CLOSED}&STYLES=&${BOX}`,
  `?layers=${CLOSED}&zoom=0&x=0&y=0&format=image/png`,
  '?f=json',
];

const read: Read = async ({ set }) => tileResponse({ bytes: Buffer.from(`tile of ${set.layer}`) });

it('no service shows a closed layer to an anonymous caller, for any form of request', async () => {
  const accounts = await openTestAccounts();
  await accounts.users.add({ name: 'vera', password: GOOD_PASSWORD, role: 'viewer', layers: ['*'] });
  const { request } = createTestApp({
    deps: {
      accounts,
      pipeline: { read },
      catalog: catalogOf([layerNamed('world'), layerNamed(CLOSED, { access: 'authenticated' })]),
    },
    access: createAccountAccess(accounts.authenticator),
  });
  const addresses = everyRoute()
    .filter(({ method, role }) => method === 'GET' && role === 'public')
    .flatMap(({ path }) => QUERIES.map((query) => addressOf(path, CLOSED) + query));
  const shown: string[] = [];
  const shared: string[] = [];
  let reached = 0;
  for (const address of addresses) {
    const stranger = await request('GET', address);
    if (tells(stranger)) shown.push(`${address}: ${stranger.status}`);
    const headers = { authorization: basic('vera', GOOD_PASSWORD) };
    const viewer = await request('GET', address, { headers });
    if (!tells(viewer)) continue;
    reached += 1;
    if (!isOnlyForCaller(viewer.headers)) shared.push(address);
  }
  expect(shown).toEqual([]);
  expect(shared).toEqual([]);
  // Otherwise no request has reached a layer.
  expect(reached).toBeGreaterThan(3);
});

/** The layer's title, or a tile of it: the pipeline here makes tiles that name their layer. */
function tells({ status, text }: { readonly status: number; readonly text: string }): boolean {
  return status === 200 && (text.includes(`Title of ${CLOSED}`) || text.includes(`tile of ${CLOSED}`));
}

/** Neither a page of another site nor a proxy can store it. */
function isOnlyForCaller(headers: Readonly<Record<string, string>>): boolean {
  return (
    headers['access-control-allow-origin'] === undefined &&
    headers['cross-origin-resource-policy'] === 'same-origin' &&
    /\b(private|no-store)\b/.test(headers['cache-control'] ?? '') &&
    /\bCookie\b/.test(String(headers.vary))
  );
}
