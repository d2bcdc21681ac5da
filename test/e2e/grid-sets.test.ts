import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenServer, openServer } from './server-in-process.ts';

const CITY = '9.9,53.5,10.1,53.6';

describe('grid sets over HTTP', () => {
  let server: OpenServer;

  beforeAll(async () => {
    const config = `
gridSets: [{ name: swiss, srs: 2056, extent: [2420000, 1030000, 2900000, 1350000], resolutions: [500, 250] }]
`;
    server = await openServer({ config, flags: { 'no-auth': 'true' }, outlivesTest: true });
  });
  afterAll(() => server?.stop());

  async function call(method: string, path: string, body?: object) {
    const answer = await fetch(new URL(path, server.url), {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : null };
  }
  const get = (path: string, query: Record<string, string>) =>
    call('GET', `/api/v1/${path}?${new URLSearchParams(query)}`);

  it('a proposed grid set can be declared as it is, and is listed with its origin and layers', async () => {
    const { json } = await get('gridset-proposals', { srs: '25832', degrees: CITY });
    expect(json).toMatchObject({ srs: 'EPSG:25832', known: true, gridSets: [] });
    expect(json.proposals[0]).toMatchObject({ country: 'DE', publisher: 'AdV', covers: true });
    const { document } = json.proposals[0];
    expect((await call('POST', '/api/v1/gridsets', document)).status).toBe(201);
    const layer = { name: 'city', source: { type: 'layer', layer: 'world' }, gridSets: ['EPSG:25832'] };
    expect((await call('POST', '/api/v1/layers', layer)).status).toBe(201);
    const { gridSets } = (await call('GET', '/api/v1/gridsets')).json;
    expect(gridSets).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'EPSG:900913', origin: 'program', layers: ['world'] }),
        expect.objectContaining({ name: 'swiss', origin: 'file', layers: [] }),
        expect.objectContaining({ name: 'EPSG:25832', origin: 'database', layers: ['city'] }),
      ]),
    );
    const again = (await get('gridset-proposals', { srs: '25832' })).json;
    expect(again.gridSets).toEqual(['EPSG:25832']);
    expect(again.proposals[0].document.name).toBe('EPSG:25832 AdV');
  });

  it('a CRS without a national grid is proposed for an extent, and an unknown one needs a definition', async () => {
    const without = await get('gridset-proposals', { srs: '3765' });
    expect(without.json).toMatchObject({ known: true, proposals: [] });
    const extent = '451000,5060000,478000,5087000';
    const computed = await get('gridset-proposals', { srs: '3765', extent });
    expect(computed.json.proposals).toMatchObject([{ country: null, document: { alignTopLeft: true } }]);
    expect((await get('gridset-proposals', { srs: '6543' })).json).toMatchObject({ known: false });
    const projection = '+proj=utm +zone=33 +ellps=GRS80';
    const defined = await get('gridset-proposals', { srs: '6543', projection, degrees: '14,50,15,51' });
    expect(defined.json).toMatchObject({ known: true, proposals: [{ document: { projection } }] });
  });

  it('the preview of a grid set has lines on the earth for its extent and its tiles', async () => {
    const { json } = await get('gridset-preview', { gridSet: 'swiss', zoom: '1' });
    expect(json).toMatchObject({ srs: 'EPSG:2056', zooms: 2, resolution: 250, columns: 8, rows: 5 });
    expect(json.outline).toHaveLength(1);
    expect(json.tiles).toHaveLength(9 + 6);
    const document = (await get('gridset-proposals', { srs: '25832' })).json.proposals[0].document;
    const query = { document: JSON.stringify(document), zoom: '12' };
    expect((await get('gridset-preview', query)).json.tiles).toBeNull();
    expect((await get('gridset-preview', { ...query, degrees: CITY })).json.tiles).not.toBeNull();
  });

  it('the preview of a grid set has its part for a layer with an extent in another one', async () => {
    const query = { gridSet: 'swiss', like: 'EPSG:4326', extent: '7,46,8,47' };
    const { name, extent } = (await get('gridset-preview', query)).json.part;
    expect([name, ...extent.map(Math.round)]).toEqual(['swiss', 2566016, 1094271, 2643490, 1205591]);
    const whole = (await get('gridset-preview', { gridSet: 'swiss', like: 'EPSG:4326' })).json.part;
    expect(whole).toEqual({ name: 'swiss' });
  });

  it.each([
    ['gridset-proposals', {}, 'srs'],
    ['gridset-proposals', { srs: 'EPSG:25832' }, 'srs must be a whole number'],
    ['gridset-proposals', { srs: '25832', extent: '1,2,3' }, 'extent must be four numbers'],
    ['gridset-proposals', { srs: '25832', projection: '+proj=nothing', degrees: CITY }, '+proj=nothing'],
    ['gridset-preview', {}, 'Give gridSet or document'],
    ['gridset-preview', { document: '{' }, 'document must be a declaration as JSON'],
    ['gridset-preview', { document: '{"name":"x"}' }, 'srs'],
    ['gridset-preview', { gridSet: 'swiss', zoom: '9' }, 'no zoom level 9'],
    ['gridset-preview', { gridSet: 'swiss', like: 'EPSG:4326', extent: '10,53,11,54' }, 'does not reach'],
  ])('a wrong request to %s is refused: %o', async (path, query, message) => {
    const { status, text } = await get(path, query);
    expect([status, text]).toEqual([400, expect.stringContaining(message)]);
  });

  it('the preview of an unknown grid set is 404', async () => {
    expect((await get('gridset-preview', { gridSet: 'none' })).status).toBe(404);
  });

  it('a declared layer keeps the settings that were given, and no default', async () => {
    const given = {
      name: 'plain',
      source: { type: 'layer', layer: 'world' },
      gridSets: ['EPSG:900913'],
      gutter: 8,
    };
    await call('POST', '/api/v1/layers', given);
    const { json } = await call('GET', '/api/v1/layers/plain');
    expect(json).toMatchObject({ document: given, gutter: 8, metatile: [4, 4] });
    expect(Object.keys(json.document)).toEqual(Object.keys(given));
    const rest = await call('GET', '/rest/layers/plain.xml');
    expect(rest.text).toMatch(/<metaWidthHeight>\s*<int>4<\/int>/);
  });
});
