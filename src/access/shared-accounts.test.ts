import { expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../test/fixtures/accounts.ts';
import { eventually } from '../../test/fixtures/eventually.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { systemClock } from '../lib/clock.ts';

const MARY = { name: 'mary', password: GOOD_PASSWORD, role: 'operator', layers: ['*'] } as const;

async function openNodes() {
  const location = await createPostgresDatabase();
  const open = () => openTestAccounts(systemClock, location);
  return [await open(), await open()] as const;
}

const shows = (authorization: string | null, session: string | null = null) => ({
  authorization,
  session,
  address: '10.0.0.1',
});

it('users, sessions and the audit log are the same on every node', async () => {
  const [a, b] = await openNodes();
  const mary = await a.users.add(MARY);
  expect(await b.authenticator.authenticate(shows(basic('mary', GOOD_PASSWORD)))).toMatchObject({
    name: 'mary',
  });
  const session = await a.sessions.begin(mary);
  expect(await b.authenticator.authenticate(shows(null, session))).toMatchObject({ name: 'mary' });
  await b.sessions.end(session ?? '');
  expect(await a.authenticator.authenticate(shows(null, session))).toBeNull();

  await a.audit.record({ phase: 'begun', id: '1', action: 'POST /a', actor: 'mary' });
  await b.audit.record({ phase: 'begun', id: '2', action: 'POST /cut-short', actor: 'mary' });
  await a.audit.record({ phase: 'ended', id: '1', action: 'POST /a', actor: 'mary', outcome: 'done' });
  await b.audit.record({ phase: 'ended', id: '3', action: 'POST /b', actor: 'john', outcome: 'done' });
  const actions = async (filter: object) =>
    (await a.audit.read({ limit: 10, ...filter })).map(({ action, phase }) => `${action} ${phase}`);
  expect(await actions({})).toEqual(['POST /b ended', 'POST /a ended', 'POST /cut-short begun']);
  expect(await actions({ actor: 'john' })).toEqual(['POST /b ended']);
  expect(await actions({ limit: 1 })).toEqual(['POST /b ended']);
});

it('a client that guesses passwords at one node is throttled at the others', async () => {
  const [a, b] = await openNodes();
  await a.users.add(MARY);
  for (let guess = 0; guess < 10; guess++) {
    expect(await a.authenticator.authenticate(shows(basic('mary', `guess ${guess}`)))).toBeNull();
  }
  const failure = await eventually(
    'the other node has heard of the guesses',
    () => b.authenticator.authenticate(shows(basic('mary', 'one more'))).catch((error: Error) => error),
    (answer) => answer instanceof Error,
  );
  expect(failure).toMatchObject({ code: 'attempts-throttled' });
});
