import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../../test/fixtures/accounts.ts';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  slopingTiles,
  subset,
} from '../../../test/fixtures/http-app.ts';
import type { LayerGroup } from '../../domain/layer.ts';
import { createAccountAccess } from '../auth/access.ts';

const catalog = catalogOf([
  layerNamed('alone'),
  layerNamed('lower'),
  layerNamed('upper', { gridSubsets: [subset('EPSG:4326', 12)] }),
  layerNamed('mercator', { gridSubsets: [subset('EPSG:900913', 12)] }),
  layerNamed('closed', { access: 'operator' }),
  layerNamed('off', { enabled: false }),
]);
const groups = new Map(
  [
    { name: 'base', title: 'Base map', layers: ['upper', 'lower'] },
    { name: 'all', layers: ['closed', 'base', 'off'] },
    { name: 'secret', layers: ['closed'] },
    { name: 'apart', title: 'No common CRS', layers: ['upper', 'mercator'] },
  ].map((group): [string, LayerGroup] => [group.name, group]),
);
const MAP =
  '/service/wms?VERSION=1.1.1&REQUEST=GetMap&FORMAT=image/png&SRS=EPSG:4326&BBOX=0,0,90,90&WIDTH=256&HEIGHT=256';

async function openGroups() {
  const accounts = await openTestAccounts();
  await accounts.ensureAdministrator(GOOD_PASSWORD);
  const { read, reads } = slopingTiles();
  const { request } = createTestApp({
    deps: { catalog, groups, pipeline: { read } },
    access: createAccountAccess(accounts.authenticator),
  });
  const headers = { authorization: basic('admin', GOOD_PASSWORD) };
  return {
    get: (url: string) => request('GET', url),
    getAsAdmin: (url: string) => request('GET', url, { headers }),
    layersRead: () => reads.map((tile) => tile.split(' ')[0]),
  };
}

/** `name(children)`; a layer without a name is `-`. */
function treeOf(capabilities: string): string {
  const text = capabilities.slice(capabilities.indexOf('<Layer>') + '<Layer>'.length);
  const marks = text.matchAll(/<Layer(?: [^>]*)?>\s*(?:<Name>([^<]*)<\/Name>)?|<\/Layer>/g);
  return Array.from(marks, ([mark, name = '-']) => (mark === '</Layer>' ? ')' : `${name}(`)).join('');
}

describe('a group of layers', () => {
  it('a group is drawn with its layers in their order, and with those of groups in it', async () => {
    const { get, getAsAdmin, layersRead } = await openGroups();
    expect((await get(`${MAP}&LAYERS=base&STYLES=`)).status).toBe(200);
    expect(layersRead()).toEqual(['upper', 'lower']);
    expect((await getAsAdmin(`${MAP}&LAYERS=alone,all&STYLES=dark,`)).status).toBe(200);
    expect(layersRead().slice(2)).toEqual(['alone', 'closed', 'upper', 'lower']);
  });

  it('layers that the caller may not see are left out, and a group without others is unknown', async () => {
    const { get, getAsAdmin, layersRead } = await openGroups();
    const anonymous = await get(`${MAP}&LAYERS=all&STYLES=`);
    expect(anonymous.status).toBe(200);
    expect(layersRead()).toEqual(['upper', 'lower']);
    expect(anonymous.headers['cache-control']).toMatch(/private/);
    expect(anonymous.headers.vary).toMatch(/authorization/i);
    for (const style of ['', 'dark']) {
      const [secret, unknown] = await Promise.all(
        ['secret', 'nothing'].map((name) => get(`${MAP}&LAYERS=${name}&STYLES=${style}`)),
      );
      expect([secret?.status, unknown?.status]).toEqual([401, 401]);
    }
    expect((await getAsAdmin(`${MAP}&LAYERS=secret&STYLES=`)).status).toBe(200);
  });

  it('a group has no styles of its own, and is refused in a CRS that one of its layers does not have', async () => {
    const { get } = await openGroups();
    expect((await get(`${MAP}&LAYERS=base&STYLES=dark`)).text).toMatch(
      /StyleNotDefined.*Group base has no style/s,
    );
    expect((await get(`${MAP}&LAYERS=apart&STYLES=`)).text).toContain('InvalidSRS');
  });

  it.each(['1.1.1', '1.3.0'])(
    'WMS capabilities %s list visible layers below their groups',
    async (version) => {
      const { get, getAsAdmin } = await openGroups();
      const url = `/service/wms?REQUEST=GetCapabilities&VERSION=${version}`;
      const { text } = await get(url);
      expect(treeOf(text)).toBe('all(base(upper()lower()))-(upper()mercator())alone())');
      expect(treeOf((await getAsAdmin(url)).text)).toBe(
        'all(closed()base(upper()lower()))secret(closed())-(upper()mercator())alone())',
      );
      const base = text.slice(text.indexOf('<Name>base'), text.indexOf('<Name>upper'));
      expect(base).toContain('<Title>Base map</Title>');
      expect(base).toContain('EPSG:4326');
      expect(base).not.toContain('EPSG:3857');
      expect(base).toMatch(/<BoundingBox /);
    },
  );
});
