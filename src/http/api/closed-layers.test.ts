import { describe, expect, it } from 'vitest';
import { ANNA, openAccountApp } from '../../../test/fixtures/account-app.ts';
import { basic, GOOD_PASSWORD } from '../../../test/fixtures/accounts.ts';
import { catalogOf, layerNamed } from '../../../test/fixtures/http-app.ts';

describe('a layer that is not for everybody', () => {
  const layers = [
    layerNamed('world'),
    layerNamed('ours', { access: 'authenticated' }),
    layerNamed('staff', { access: 'operator' }),
  ];

  async function openLayers() {
    const opened = await openAccountApp({ deps: { catalog: catalogOf(layers) } });
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
  ])('is shown to %j as %j', async (headers, listed, ours, staff) => {
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

  it('is kept by no proxy on the way', async () => {
    const { get } = await openLayers();
    const answer = await get('/tiles/ours/0/0/0.png');
    expect(answer.headers['cache-control']).toBe('private, max-age=7200, must-revalidate');
  });
});
