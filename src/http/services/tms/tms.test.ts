import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../../../test/fixtures/accounts.ts';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  type Read,
  subset,
  TILE_BYTES,
  tileResponse,
} from '../../../../test/fixtures/http-app.ts';
import { createGridSubset } from '../../../domain/grid-subset.ts';
import { readXml } from '../../../lib/xml/read-xml.ts';
import type { XmlElement } from '../../../lib/xml/xml-element.ts';
import { createAccountAccess } from '../../auth/access.ts';

const ROOT = '/service/tms/1.0.0';

const attributes = (node: XmlElement) => Object.fromEntries(node.attributes);
const childrenOf = (node: XmlElement | undefined, name: string) =>
  (node?.children ?? []).filter((child) => child.name === name);

function spying() {
  const asked: string[] = [];
  const read: Read = async ({ set, selection }, { z, x, y }) => {
    asked.push(`${set.layer} ${set.gridSet} ${set.format} ${z}/${x}/${y} ${selection.values.get('STYLES')}`);
    return tileResponse();
  };
  const catalog = catalogOf([layerNamed('world'), layerNamed('me@home'), layerNamed('a/b@EPSG:4326@png')]);
  return { asked, ...createTestApp({ deps: { catalog, pipeline: { read } } }) };
}

describe('a tile by TMS', () => {
  it('a tile by TMS comes with everything a client needs', async () => {
    const { request } = createTestApp();
    const answer = await request('GET', `${ROOT}/world@EPSG:4326@png/1/3/1.png`);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(TILE_BYTES.toString());
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(TILE_BYTES.length),
      'x-cache': 'HIT',
      etag: '"abcdef01-18"',
      'cache-control': 'max-age=7200, must-revalidate',
      'access-control-allow-origin': '*',
      'geowebcache-cache-result': 'HIT',
      'geowebcache-gridset': 'EPSG:4326',
      'geowebcache-tile-index': '[3, 1, 1]',
      'geowebcache-tile-bounds': '90,0,180,90',
    });
    const head = await request('HEAD', `${ROOT}/world@EPSG:4326@png/1/3/1.png`);
    expect([head.status, head.text]).toEqual([200, '']);
    const headers = { 'if-none-match': '"abcdef01-18"' };
    expect((await request('GET', `${ROOT}/world@EPSG:4326@png/1/3/1.png`, { headers })).status).toBe(304);
  });

  it.each([
    ['world@EPSG:900913@png/2/1/0.png', 'world EPSG:900913 image/png 2/1/3 light'],
    ['world@EPSG:900913@png/2/1/3.png', 'world EPSG:900913 image/png 2/1/0 light'],
    ['world@EPSG:900913@png/2/1/3.png?flipY=true', 'world EPSG:900913 image/png 2/1/3 light'],
    ['world@EPSG:900913@png/2/1/3.png?FLIPY=TRUE', 'world EPSG:900913 image/png 2/1/3 light'],
    ['world@EPSG:900913@png/2/1/3.png?flipY=false', 'world EPSG:900913 image/png 2/1/0 light'],
    ['world@EPSG%3A4326@jpeg/2/1/0.jpg?styles=dark', 'world EPSG:4326 image/jpeg 2/1/3 dark'],
    ['world@EPSG:3857@jpg/2/1/0.jpeg', 'world EPSG:900913 image/jpeg 2/1/3 light'],
    ['world/2/1/0.jpeg', 'world EPSG:900913 image/jpeg 2/1/3 light'],
    ['me@home/2/1/0.png', 'me@home EPSG:900913 image/png 2/1/3 light'],
    ['me%40home@EPSG:4326@png/2/1/0.png', 'me@home EPSG:4326 image/png 2/1/3 light'],
    ['a%2Fb@EPSG:4326@png/2/1/0.png', 'a/b@EPSG:4326@png EPSG:900913 image/png 2/1/3 light'],
  ])('the TMS address %s means %s', async (path, expected) => {
    const { request, asked } = spying();
    const answer = await request('GET', `${ROOT}/${path}`);
    expect(answer.status, answer.text).toBe(200);
    expect(asked).toEqual([expected]);
  });

  it.each([
    ['1.1.0', 400, 'The only supported version of TMS is 1.0.0, not 1.1.0.'],
    ['1.1.0/world', 400, 'only supported version'],
    ['1.1.0/world/0/0/0.png', 400, 'only supported version'],
    ['1.0.0/mars', 404, 'There is no layer mars.'],
    ['1.0.0/mars@EPSG:4326@png/0/0/0.png', 404, 'There is no layer mars.'],
    ['1.0.0/world@EPSG:1@png', 400, 'it has EPSG:900913, EPSG:4326'],
    ['1.0.0/world@EPSG:1@png/0/0/0.png', 400, 'it has EPSG:900913, EPSG:4326'],
    ['1.0.0/world@EPSG:4326@tiff/0/0/0.tiff', 400, 'it has png, jpeg'],
    ['1.0.0/world@EPSG:4326@png/0/0/0.jpeg', 400, '.png tiles only'],
    ['1.0.0/world@EPSG:4326@png/0/2/0.png', 404, 'columns are 0 to 1, rows from the bottom 0 to 0'],
    ['1.0.0/world@EPSG:4326@png/0/0/1.png', 404, 'rows from the bottom 0 to 0'],
    ['1.0.0/world@EPSG:4326@png/0/0/1.png?flipY=true', 404, 'rows 0 to 0'],
    ['1.0.0/world@EPSG:4326@png/13/0/0.png', 404, 'zooms are 0 to 12'],
    ['1.0.0/world@EPSG:4326@png/99/0/0.png', 404, 'no zoom level 99'],
    ['1.0.0/world@EPSG:4326@png/0/0/x.png', 400, 'The row must be a whole number'],
    ['1.0.0/world@EPSG:4326@png/0/0/-1.png', 400, 'The row must be a whole number'],
    ['1.0.0/world@EPSG:4326@png/0/0/0', 400, 'extension such as 12.png'],
    ['1.0.0/world@EPSG:4326@png/0/0/0.png?STYLES=neon', 400, 'STYLES'],
    ['1.0.0/world@EPSG:4326@png/0/0/0.png?flipy=true&flipY=false', 400, 'FLIPY is given twice'],
  ])('the TMS address %s is answered %i and says %s', async (path, status, message) => {
    const { request } = createTestApp();
    const answer = await request('GET', `/service/tms/${path}`);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.text).toContain(message);
  });
});

describe('TMS documents', () => {
  it.each(['/service/tms', '/service/tms/'])('TMS begins at %s with the existing versions', async (path) => {
    const { request } = createTestApp();
    const answer = await request('GET', `/geowebcache${path}`, { headers: { host: 'maps.example' } });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/xml; charset=utf-8',
      'content-disposition': 'inline;filename=tms-getcapabilities.xml',
    });
    const root = readXml(answer.text);
    expect([root.name, ...root.children.map(attributes)]).toEqual([
      'Services',
      { title: 'Tilewarden', version: '1.0.0', href: 'http://maps.example/geowebcache/service/tms/1.0.0' },
    ]);
  });

  it.each([ROOT, `${ROOT}/`])('TMS lists at %s every layer in every grid set and format', async (path) => {
    const gridSubsets = [
      subset('EPSG:900913', 3),
      subset('EPSG:4326', 3),
      subset('GlobalCRS84Pixel', 3),
    ] as const;
    const { request } = createTestApp({
      deps: { catalog: catalogOf([layerNamed('a & b@c', { gridSubsets })]) },
    });
    const root = readXml((await request('GET', path)).text);
    expect([root.name, attributes(root)]).toEqual([
      'TileMapService',
      { version: '1.0.0', services: 'http://localhost/service/tms' },
    ]);
    const map = (srs: string, profile: string, name: string) => ({
      title: 'Title of a & b@c',
      srs,
      profile,
      href: `http://localhost${ROOT}/a%20%26%20b%40c@${name}`,
    });
    expect(childrenOf(childrenOf(root, 'TileMaps')[0], 'TileMap').map(attributes)).toEqual([
      map('EPSG:3857', 'global-mercator', 'EPSG%3A900913@png'),
      map('EPSG:3857', 'global-mercator', 'EPSG%3A900913@jpeg'),
      map('EPSG:4326', 'global-geodetic', 'EPSG%3A4326@png'),
      map('EPSG:4326', 'global-geodetic', 'EPSG%3A4326@jpeg'),
    ]);
  });

  it('TMS documents describe a tile map, and their addresses lead on', async () => {
    const extent = { minX: 5, minY: 45, maxX: 15, maxY: 55 };
    const part = createGridSubset(subset('EPSG:4326', 12).gridSet, { extent, zoomStart: 1, zoomStop: 2 });
    const catalog = catalogOf([layerNamed('a/b', { gridSubsets: [part], description: 'Where <we> live' })]);
    const { request } = createTestApp({ deps: { catalog } });
    const root = readXml((await request('GET', `${ROOT}/a%2Fb@EPSG:4326@jpg`)).text);
    expect([root.name, attributes(root)]).toEqual([
      'TileMap',
      { version: '1.0.0', tilemapservice: `http://localhost${ROOT}` },
    ]);
    expect(root.children.map((child) => [child.name, child.text.trim(), attributes(child)])).toEqual([
      ['Title', 'Title of a/b', {}],
      ['Abstract', 'Where <we> live', {}],
      ['SRS', 'EPSG:4326', {}],
      ['BoundingBox', '', { minx: '-180', miny: '-90', maxx: '180', maxy: '90' }],
      ['Origin', '', { x: '-180', y: '-90' }],
      ['TileFormat', '', { width: '256', height: '256', 'mime-type': 'image/jpeg', extension: 'jpeg' }],
      ['TileSets', '', { profile: 'global-geodetic' }],
    ]);
    const href = `http://localhost${ROOT}/a%2Fb@EPSG%3A4326@jpeg`;
    const [tileSets] = childrenOf(root, 'TileSets');
    expect(tileSets?.children.map(attributes)).toEqual([
      { href: `${href}/1`, 'units-per-pixel': '0.3515625', order: '1' },
      { href: `${href}/2`, 'units-per-pixel': '0.17578125', order: '2' },
    ]);
    expect((await request('GET', `${href.replace('http://localhost', '')}/1/2/1.jpeg`)).status).toBe(200);
  });

  it('TMS documents do not describe a grid set with different origins, though its tiles are served', async () => {
    const gridSubsets = [subset('GlobalCRS84Pixel', 3)] as const;
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('a', { gridSubsets })]) } });
    const answer = await request('GET', `${ROOT}/a`);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('TMS cannot describe')]);
    expect((await request('GET', `${ROOT}/a/0/0/0.png`)).status).toBe(200);
  });

  it('a TMS tile is also named in the query of its tile map, for clients with a key in the address', async () => {
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('a')]) } });
    const statuses = [];
    for (const place of ['/0/0/0.png', '/0/9/0.png', '/0/0', '0/0/0.png', '/../0/0.png', '']) {
      statuses.push((await request('GET', `${ROOT}/a?tms-tile=${place}`)).status);
    }
    expect(statuses).toEqual([200, 404, 400, 400, 400, 400]);
    const refused = await request('GET', `${ROOT}/a?tms-tile=/0`);
    expect(refused.text).toContain('tms-tile must be the place of a tile such as /3/2/1.png');
  });

  it('TMS documents show callers the layers that they may see', async () => {
    const accounts = await openTestAccounts();
    await accounts.ensureAdministrator(GOOD_PASSWORD);
    const catalog = catalogOf([layerNamed('open'), layerNamed('closed', { access: 'operator' })]);
    const { request } = createTestApp({
      deps: { catalog },
      access: createAccountAccess(accounts.authenticator),
    });
    const headers = { authorization: basic('admin', GOOD_PASSWORD) };
    const list = await request('GET', ROOT);
    expect(list.text).not.toContain('closed');
    expect(list.headers['cache-control']).toBe('private, no-cache');
    expect((await request('GET', ROOT, { headers })).text).toContain('Title of closed');
    for (const path of [
      `${ROOT}/closed`,
      `${ROOT}/closed/0/0/0.png`,
      `${ROOT}/closed@EPSG:4326@png/0/0/0.png`,
    ]) {
      expect((await request('GET', path)).status).toBe(401);
      expect((await request('GET', path, { headers })).status).toBe(200);
    }
  });
});
