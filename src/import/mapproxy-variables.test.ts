import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { importMapProxy } from './import-mapproxy.ts';

const braced = (name: string) => `$\{${name}}`;

function read(request: object) {
  const tree = {
    layers: [{ name: 'a', title: 'A', sources: ['s'] }],
    sources: { s: { type: 'wms', req: { layers: 'a', ...request } } },
    globals: { http: { headers: { 'X-Token': '$TOKEN' } } },
  };
  const places = { folder: '/mp', resolve, isThere: () => false, readText: () => null };
  const imported = importMapProxy(tree, places);
  expect(checkImported(imported).refused).toEqual([]);
  return { layers: imported.layers, reported: imported.report.entries.map(({ what }) => what) };
}

it('MapProxy variables that are all of a text are read from the environment of the server', () => {
  const url = `http://${braced('USER')}:$PASSWORD@maps.example.org/wms`;
  const { layers, reported } = read({ url, authkey: braced('AUTH_KEY') });
  expect(layers).toMatchObject([
    {
      source: {
        url: 'http://maps.example.org/wms',
        username: { env: 'USER' },
        password: { env: 'PASSWORD' },
        vendorParameters: { authkey: { env: 'AUTH_KEY' } },
        headers: { 'X-Token': { env: 'TOKEN' } },
      },
    },
  ]);
  expect(reported).toContain('$TOKEN is read from the environment of the server');
});

it.each([`http://${braced('host')}/wms`, 'http://maps.example.org/$MAP', braced('URL')])(
  'MapProxy layers with the address %s are left out, and the report names the variable',
  (url) => {
    const { layers, reported } = read({ url });
    expect(layers).toEqual([]);
    expect(reported).toContainEqual(expect.stringMatching(/has the variable \$.* write its value instead/));
  },
);
