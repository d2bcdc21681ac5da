import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD } from '../../../test/fixtures/accounts.ts';
import { ANNA, catalogOf, layerNamed, openAccountApp } from '../../../test/fixtures/http-app.ts';

describe('a layer that is not for everybody', () => {
  const layers = [
    layerNamed('world'),
    layerNamed('ours', { access: 'authenticated' }),
    layerNamed('staff', { access: 'operator' }),
  ];

  async function openLayers(deps = {}) {
    const opened = await openAccountApp({ deps: { catalog: catalogOf(layers), ...deps } });
    const { users } = opened.accounts;
    await users.add({ name: 'vera', password: GOOD_PASSWORD, role: 'viewer', layers: ['*'] });
    await users.add({ name: 'olga', password: GOOD_PASSWORD, role: 'operator', layers: ['elsewhere'] });
    return opened;
  }

  it.each([
    [{}, ['world'], 401, 401],
    [{ authorization: basic('vera', 'wrong') }, ['world'], 401, 401],
    [{ authorization: basic('vera', GOOD_PASSWORD) }, ['world', 'ours'], 200, 403],
    [{ authorization: basic('olga', GOOD_PASSWORD) }, ['world'], 403, 403],
    [ANNA, ['world', 'ours', 'staff'], 200, 200],
  ])('closed layers are shown to %j as %j', async (headers, listed, ours, staff) => {
    const { get } = await openLayers();
    const list = JSON.parse((await get('/tiles.json', headers)).text);
    expect(list.layers.map(({ name }: { name: string }) => name)).toEqual(listed);
    for (const [name, status] of [
      ['world', 200],
      ['ours', ours],
      ['staff', staff],
    ] as const) {
      expect((await get(`/tiles/${name}.json`, headers)).status, name).toBe(status);
      expect((await get(`/tiles/${name}/0/0/0.png`, headers)).status, name).toBe(status);
    }
  });

  it.each([
    '/tiles/{layer}.json',
    '/tiles/{layer}/0/0/0.png',
    '/tiles/{layer}/EPSG:4326/0/0/0.png',
    '/layers/{layer}',
    '/service/wmts?REQUEST=GetCapabilities&LAYER={layer}',
    '/service/wmts?REQUEST=GetTile&LAYER={layer}&FORMAT=image/png&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:0&TILEROW=0&TILECOL=0',
    '/service/wmts/rest/{layer}/EPSG:4326/EPSG:4326:0/0/0?format=image/png',
    '/service/wmts/rest/{layer}/tilejson/png',
    '/service/wms?REQUEST=GetCapabilities&LAYERS={layer}',
    '/service/wms?REQUEST=GetMap&LAYERS={layer}&SRS=EPSG:4326&BBOX=-180,-90,0,90&WIDTH=256&HEIGHT=256&FORMAT=image/png',
    '/service/tms/1.0.0/{layer}',
    '/service/tms/1.0.0/{layer}/0/0/0.png',
    '/service/gmaps?LAYERS={layer}&zoom=0&x=0&y=0&format=image/png',
    '/service/kml/{layer}.kml',
    '/ogc/collections/{layer}',
    '/ogc/collections/{layer}/map/tiles',
  ])('a closed layer and an unknown one are the same to a stranger: %s', async (path) => {
    const { get } = await openLayers();
    const [closed, missing] = [
      await get(path.replace('{layer}', 'ours'), {}),
      await get(path.replace('{layer}', 'none'), {}),
    ];
    const comparable = ({ status, headers, text }: typeof closed) => ({
      status,
      text,
      challenge: headers['www-authenticate'],
      caching: headers['cache-control'],
    });
    expect(closed.status).toBe(401);
    expect(comparable(missing)).toEqual(comparable(closed));
    const vera = { authorization: basic('vera', GOOD_PASSWORD) };
    expect((await get(path.replace('{layer}', 'none'), vera)).status).toBeOneOf([400, 404]);
  });

  it('an unknown layer is a 404 if every layer is public', async () => {
    const { get } = await openAccountApp({ deps: { catalog: catalogOf([layerNamed('world')]) } });
    expect((await get('/tiles/none/0/0/0.png', {})).status).toBe(404);
  });

  it('recent changes that concern a closed layer, and feeds of closed layers only, are hidden', async () => {
    const feeds = { parcels: ['world', 'staff'], works: ['staff'] };
    const change = { id: 1, at: 0, merged: 1, layers: ['world'], boxes: [[8, 47, 9, 48]] };
    const { get } = await openLayers({
      changes: {
        list: async () => Object.entries(feeds).map(([name, all]) => ({ name, layers: all })),
        recent: async () => [{ ...change, id: 2, layers: ['world', 'staff'] }, change],
      },
    });
    const seen = async (feed: string, headers: Record<string, string>) => {
      const { status, text } = await get(`/api/v1/changes/${feed}/recent`, headers);
      return status === 200 ? JSON.parse(text).changes.map(({ id }: { id: number }) => id) : status;
    };
    const vera = { authorization: basic('vera', GOOD_PASSWORD) };
    expect([await seen('parcels', ANNA), await seen('works', ANNA)]).toEqual([
      [2, 1],
      [2, 1],
    ]);
    expect([await seen('parcels', vera), await seen('works', vera), await seen('none', vera)]).toEqual([
      [1],
      404,
      404,
    ]);
    expect(await seen('parcels', {})).toBe(401);
  });

  it('a tile of a closed layer is kept by no proxy on the way', async () => {
    const { get } = await openLayers();
    const answer = await get('/tiles/ours/0/0/0.png');
    expect(answer.headers['cache-control']).toBe('private, max-age=7200, must-revalidate');
  });
});

describe('an operator of all layers and a layer for administrators', () => {
  async function open() {
    const catalog = catalogOf([layerNamed('world'), layerNamed('secret', { access: 'admin' })]);
    const opened = await openAccountApp({ deps: { catalog } });
    await opened.accounts.users.add({
      name: 'otto',
      password: GOOD_PASSWORD,
      role: 'operator',
      layers: ['*'],
    });
    return { ...opened, otto: { authorization: basic('otto', GOOD_PASSWORD) } };
  }

  it.each([
    ['POST', '/api/v1/layers/secret/truncate', {}],
    ['POST', '/api/v1/tasks', { type: 'truncate', layer: 'secret', zoomStart: 0, zoomStop: 1, dryRun: true }],
    ['POST', '/api/v1/tasks/stop', { layer: 'secret' }],
    ['POST', '/rest/seed/secret.json', {}],
    ['POST', '/rest/masstruncate', { truncateLayer: { layerName: 'secret' } }],
    ['POST', '/rest/masstruncate', { truncateAll: {} }],
    ['POST', '/api/v1/exports', { layer: 'secret', type: 'mbtiles' }],
    ['POST', '/api/v1/schedules', { name: 'x', layer: 'secret', type: 'truncate', cron: '0 0 * * *' }],
  ])('an operator may not change a layer that only administrators see: %s %s', async (method, path, body) => {
    const { send, otto } = await open();
    const { status, text } = await send(method, path, body, otto);
    expect([status, text]).toEqual([403, expect.stringMatching('may not (work on|see)')]);
  });
});
