import { expect, it } from 'vitest';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createHostOutageStore } from './host-outage-store.ts';

const HOST = 'maps.example.org:443';
const FAILING = {
  reason: 'failing',
  failure: 'timeout',
  interactiveMs: 500,
  taskMs: 4000,
  failingMs: 9000,
} as const;

it('a host state that one node reports is read by the others, until one has had an answer', async () => {
  const location = await createPostgresDatabase();
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  whenOver(() => database.close());
  const [one, other] = [createHostOutageStore(database, 'a'), createHostOutageStore(database, 'b')];
  await one.report(HOST, FAILING);
  expect(await one.read()).toEqual(new Map());
  const outage = (await other.read()).get(HOST);
  expect(outage).toMatchObject({ reason: 'failing', failure: 'timeout' });
  expect(outage?.taskMs).toBeLessThanOrEqual(4000);
  expect((outage?.taskMs ?? 0) - (outage?.interactiveMs ?? 0)).toBe(3500);
  expect(outage?.failingMs).toBeGreaterThanOrEqual(9000);
  await other.report(HOST, { ...FAILING, reason: 'retry-after', failure: null });
  expect((await one.read()).get(HOST)?.reason).toBe('retry-after');
  await one.report(HOST, null);
  expect([await one.read(), await other.read()]).toEqual([new Map(), new Map()]);
});
