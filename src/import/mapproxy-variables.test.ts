import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { importMapProxy } from './import-mapproxy.ts';

const braced = (name: string) => `$\{${name}}`;

function read(request: object, environment = {}) {
  const tree = {
    layers: [{ name: 'a', title: 'A', sources: ['s'] }],
    sources: { s: { type: 'wms', req: { layers: 'a', ...request } } },
    globals: { http: { headers: { 'X-Token': '$TOKEN' } } },
  };
  const places = { folder: '/mp', resolve, isThere: () => false, readText: () => null, environment };
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

it('MapProxy variables inside a text have their values at the import, but for logins', () => {
  const url = `http://$USER:${braced('PASSWORD')}@${braced('HOST')}/$MAP`;
  const environment = {
    HOST: 'maps.example.org',
    MAP: 'wms',
    USER: 'root',
    PASSWORD: 'secret',
    KEY: 'secret',
  };
  const { layers, reported } = read({ url, layers: '$MAP', authkey: '$KEY' }, environment);
  expect(layers).toMatchObject([
    {
      source: {
        url: 'http://maps.example.org/wms',
        layers: 'wms',
        username: { env: 'USER' },
        vendorParameters: { authkey: { env: 'KEY' } },
      },
    },
  ]);
  expect(JSON.stringify(layers)).not.toContain('secret');
  expect(reported).toContain('$HOST is written by its value now');
});

it.each([`http://${braced('host')}/wms`, 'http://maps.example.org/$MAP', braced('URL')])(
  'MapProxy layers with the address %s are left out, and the report names the variable',
  (url) => {
    const { layers, reported } = read({ url });
    expect(layers).toEqual([]);
    expect(reported).toContainEqual(
      expect.stringMatching(/has the variable \$.* set it for the import, or write its value instead/),
    );
  },
);
