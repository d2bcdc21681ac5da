import { expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  noAccounts,
  openAccountApp,
} from '../../../test/fixtures/http-app.ts';
import type { Caller } from '../../access/caller.ts';
import type { FeedStatus } from '../../changes/change-options.ts';

const FAULT = 'getaddrinfo ENOTFOUND gis-db.internal';
const feed = (name: string, layers: readonly string[]): FeedStatus => ({
  ...{ name, layers, type: 'webhook', action: 'invalidate', state: 'ok', lastAt: null, lastError: FAULT },
  ...{ received: 2, applied: 2, pending: 0 },
});
const recorded = (id: number, layers: readonly string[]) => ({
  ...{ id, feed: 'both', at: 0, event_id: null, merged: 1, layers, boxes: [[0, 0, 1, 1]] },
});

/** The caller has this role, for the layer `roads` only. */
function appFor(role: Caller['role']) {
  const replayed: string[] = [];
  const caller = { name: 'rosa', role, layers: ['roads'], via: 'basic' } as Caller;
  const changes = {
    list: async () => [feed('own', ['roads']), feed('both', ['roads', 'rails']), feed('other', ['rails'])],
    recent: async () => [recorded(3, ['roads', 'rails']), recorded(2, ['rails']), recorded(1, ['roads'])],
    replay: async (name: string) => replayed.push(name),
    webhook: () => null,
  };
  const layers = ['roads', 'rails'].map((name) => layerNamed(name, { access: 'authenticated' }));
  const app = createTestApp({
    deps: { catalog: catalogOf(layers), changes, accounts: noAccounts },
    access: { loopbackOnly: false, authenticate: async () => caller, stillHolds: async () => true },
  });
  const ask = async (method: string, path: string) => {
    const { status, text } = await app.request(method, `/api/v1/changes${path}`);
    return { status, text };
  };
  return { ask, replayed };
}

it('a caller of some layers sees feeds of these, with no other layer in them', async () => {
  const { text } = await appFor('viewer').ask('GET', '');
  expect(JSON.parse(text).changes).toMatchObject([
    { name: 'own', layers: ['roads'] },
    { name: 'both', layers: ['roads'] },
  ]);
});

it('the words of a database are shown to operators of a feed, and a plain reason to viewers', async () => {
  expect((await appFor('operator').ask('GET', '')).text).toContain(FAULT);
  const { text } = await appFor('viewer').ask('GET', '');
  expect(text).not.toContain('gis-db');
  expect(JSON.parse(text).changes[0].lastError).toMatch(/Operators see the reason/);
});

it('a caller of some layers sees recent changes of these alone, and an unknown feed as one of other layers', async () => {
  const { ask } = appFor('viewer');
  const { text } = await ask('GET', '/both/recent');
  expect(JSON.parse(text).changes).toMatchObject([{ id: 1, layers: ['roads'] }]);
  const unknown = { status: 404, text: 'There is no feed of that name.\n' };
  expect([await ask('GET', '/other/recent'), await ask('GET', '/nothing/recent')]).toEqual([
    unknown,
    unknown,
  ]);
});

it('an operator of some layers replays feeds of these alone, and a viewer none', async () => {
  const { ask, replayed } = appFor('operator');
  expect((await ask('POST', '/own/replay')).status).toBe(200);
  expect((await ask('POST', '/both/replay')).status).toBe(403);
  expect((await ask('POST', '/other/replay')).status).toBe(404);
  expect(replayed).toEqual(['own']);
  expect((await appFor('viewer').ask('POST', '/own/replay')).status).toBe(403);
});

it('forged events leave a few audit entries and do not hold up logins from their address', async () => {
  const changes = { webhook: () => null } as never;
  const { send, logIn, accounts } = await openAccountApp({ deps: { changes } });
  const forge = () => send('POST', '/api/v1/changes/edits', {}, { 'x-hub-signature-256': 'sha256=00' });
  const statuses: number[] = [];
  for (let i = 0; i < 15; i++) statuses.push((await forge()).status);
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect((await logIn()).answer.status).toBe(200);
  const entries = await accounts.audit.read({ limit: 100 } as never);
  const forgeries = entries.filter(({ action }) => action === 'change');
  expect(forgeries).toHaveLength(statuses.filter((status) => status === 401).length);
  expect(forgeries[0]).toMatchObject({ target: 'feed:edits', outcome: 'refused', status: 401 });
});
