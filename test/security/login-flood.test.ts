import { expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../e2e/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength } from '../fixtures/length.ts';
import { startGuardedServer } from './guarded-server.ts';
import { askWho, basicOf, openLoginFlood } from './login-flood.ts';

const GUESSES = inLength(10, 5000);
const AT_ONCE = inLength(10, 20);
const KNOWN = '127.0.0.1';
const UNKNOWN = '127.0.2.1';
const NEW_PASSWORD = 'another sentence for tests';

it('a flood of wrong logins blocks neither tiles nor an administrator', async () => {
  // With the real cost of passwords.
  const server = await startGuardedServer({ env: { NODE_OPTIONS: '' } });
  expect((await askWho(server.url, server.authorization)).status).toBe(200);
  // A new password is not cached yet: it has to be checked in the middle of the flood.
  const changed = await fetch(`${server.url}/api/v1/me/password`, {
    method: 'PUT',
    headers: { authorization: server.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ current: ADMIN_PASSWORD, password: NEW_PASSWORD }),
  });
  expect(changed.status).toBe(204);

  const flood = openLoginFlood(server.url, AT_ONCE);
  const guesses = () => [...flood.statuses.values()].reduce((sum, count) => sum + count, 0);
  await eventually('the flood has begun', guesses);
  const signIn = async (from: string) => (await askWho(server.url, basicOf(NEW_PASSWORD), from)).status;
  expect(await signIn(KNOWN)).toBe(200);
  // Until then an unknown address waits in one line with the guessers, which has six places.
  await eventually('guesses from all addresses were answered', flood.hasTriedEverywhere);
  expect(await signIn(UNKNOWN)).toBe(200);
  await eventually(
    'all guesses were answered, and tiles meanwhile',
    async () => {
      const tile = await fetch(`${server.url}/tiles/small/0/0/0.png`);
      await tile.arrayBuffer();
      expect(tile.status).toBe(200);
      return guesses();
    },
    (answered) => answered >= GUESSES,
  );
  await flood.stop();
  expect([...flood.statuses.keys()].toSorted()).toEqual([401, 429]);
  expect((await server.stop()).code).toBe(0);
});
