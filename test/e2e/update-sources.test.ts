import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const EMPTY = '<feed xmlns="http://www.w3.org/2005/Atom"/>';
const ZURICH = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss"><entry>
  <id>z</id><updated>2026-01-01T00:00:00Z</updated><georss:point>47.35 8.55</georss:point></entry></feed>`;

interface FeedDocument {
  readonly name: string;
  readonly layers: readonly string[];
  readonly action: string;
  readonly applied: number;
}

let wms: MockWms;
let rss: Server;
let feedText = EMPTY;
let server: OpenServer;

beforeAll(async () => {
  wms = await openMockWms();
  rss = createServer((_, response) => response.setHeader('Content-Type', 'application/xml').end(feedText));
  await new Promise<void>((resolve) => rss.listen(0, '127.0.0.1', resolve));
  const hosts = [new URL(wms.url).host, `127.0.0.1:${(rss.address() as AddressInfo).port}`];
  const allowed = hosts.map((host) => `  '${host}': { allowPrivate: true }\n`).join('');
  const config = `layers: []\nupstreams:\n${allowed}`;
  server = await openServer({ config, flags: { 'no-auth': 'true' } });
});

afterAll(async () => {
  await wms.close();
  rss.close();
});

async function declare(feed: string) {
  const sources = feed && `<updateSources><geoRssFeed>${feed}</geoRssFeed></updateSources>`;
  const body = `<wmsLayer><name>topp:gwc</name><mimeFormats><string>image/png</string></mimeFormats>
    <gridSubsets><gridSubset><gridSetName>EPSG:900913</gridSetName></gridSubset></gridSubsets>${sources}
    <metaWidthHeight><int>1</int><int>1</int></metaWidthHeight>
    <wmsUrl><string>${wms.url}</string></wmsUrl><wmsLayers>roads</wmsLayers></wmsLayer>`;
  const address = new URL('rest/layers/topp:gwc.xml', server.url);
  const answer = await fetch(address, { method: 'PUT', body, headers: { 'content-type': 'text/xml' } });
  return { status: answer.status, text: await answer.text(), warning: answer.headers.get('warning') };
}

async function feedOfLayer(): Promise<FeedDocument | null> {
  const answer = await fetch(new URL('api/v1/changes', server.url));
  const { changes } = (await answer.json()) as { changes: readonly FeedDocument[] };
  return changes.find(({ layers }) => layers.includes('topp:gwc')) ?? null;
}

async function outcomes(): Promise<readonly (string | null)[]> {
  const tiles = ['6/33/22.png', '6/33/20.png'];
  const answers = await Promise.all(
    tiles.map((tile) => fetch(new URL(`tiles/topp:gwc/${tile}`, server.url))),
  );
  return answers.map(({ headers }) => headers.get('x-cache'));
}

const polled =
  () => `<feedUrl>http://127.0.0.1:${(rss.address() as AddressInfo).port}/?since=\${lastUpdate}</feedUrl>
  <pollInterval>1</pollInterval>`;

it.each([
  ['an unknown grid set', () => `${polled()}<gridSetId>LOST</gridSetId>`, 'LOST'],
  ['an unknown operation', () => `${polled()}<operation>paint</operation>`, 'truncate, reseed or seed'],
  ['no address', () => '<pollInterval>1</pollInterval>', 'feedUrl'],
  [
    'a private address',
    () => '<feedUrl>http://10.9.8.7/</feedUrl><pollInterval>1</pollInterval>',
    '10.9.8.7',
  ],
])('a GeoRSS feed with %s is rejected over REST', async (_case, feed, words) => {
  expect(await declare(feed())).toMatchObject({ status: 400, text: expect.stringContaining(words) });
});

it("GeoWebCache's updateSources take effect over REST, and end with the layer's next declaration", async () => {
  expect(await declare(`${polled()}<maxMaskLevel>5</maxMaskLevel>`)).toMatchObject({
    status: 200,
    warning: expect.stringContaining('maxMaskLevel'),
  });
  await eventually('the feed is followed', async () => (await feedOfLayer()) !== null);
  expect(await feedOfLayer()).toMatchObject({
    name: expect.stringMatching(/^topp-gwc-/),
    action: 'truncate',
  });
  const shown = await (await fetch(new URL('rest/layers/topp:gwc.xml', server.url))).text();
  expect(shown).toContain('<pollInterval>1</pollInterval><operation>truncate</operation></geoRssFeed>');
  await eventually('the tiles are hits', outcomes, (seen) => seen.every((one) => one === 'HIT'));
  feedText = ZURICH;
  await eventually('the entry is applied', async () => (await feedOfLayer())?.applied === 1);
  expect(await outcomes()).toEqual(['MISS', 'HIT']);
  expect((await declare('')).status).toBe(200);
  await eventually('the feed has ended', async () => (await feedOfLayer()) === null);
});
