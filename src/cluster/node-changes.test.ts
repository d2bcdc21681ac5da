import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { createSkippingClock } from '../../test/fixtures/clocks.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createNodeChanges } from './node-changes.ts';
import { openNodeRegistry } from './node-registry.ts';

const quiet = { clock: systemClock, log: silentLogger };

async function join(location: string, name: string, clock: Clock = systemClock) {
  const database = await openDatabase({ location, ...quiet });
  whenOver(() => database.close());
  const self = { name, roles: ['serve'], version: '1.0' } as const;
  const registry = await openNodeRegistry({ database, instance: randomUUID(), self, ...quiet });
  whenOver(() => registry.close());
  const changes = createNodeChanges({ database, registry, channels: [], staleMs: 300_000, ...quiet, clock });
  return { database, changes };
}

async function following(location: string, name: string, clock?: Clock) {
  const node = await join(location, name, clock);
  let halted = Promise.resolve();
  let applied = 0;
  node.changes.onChange(async () => {
    await halted;
    applied++;
  });
  const followed = await node.changes.follow();
  whenOver(() => followed.close());
  return {
    ...node,
    applied: () => applied,
    halt(until: Promise<void>) {
      halted = until;
    },
  };
}

it.each([
  ['back', -10_000],
  ['forward', 10_000],
])('a change waits for the other node when the clock of the database jumps %s', async (_, jump) => {
  const location = await createPostgresDatabase();
  const a = await following(location, 'a');
  const b = await following(location, 'b');
  for (const { database } of [a, b]) {
    const now = database.now.bind(database);
    vi.spyOn(database, 'now').mockImplementation(async () => (await now()) + jump);
  }
  let wake = () => {};
  b.halt(new Promise((resolve) => (wake = resolve)));
  const before = b.applied();
  let isAcknowledged = false;
  const waiting = a.changes.waitForAllNodes().then(() => {
    isAcknowledged = true;
  });
  await systemClock.sleep(500);
  expect(isAcknowledged).toBe(false);
  wake();
  await waiting;
  expect(b.applied()).toBeGreaterThan(before);
});

it('a change does not wait again for a node that has fallen silent', async () => {
  const location = await createPostgresDatabase();
  const a = await following(location, 'a');
  const b = await following(location, 'b');
  b.halt(new Promise(() => {}));
  await a.changes.waitForAllNodes();
  expect(b.changes.isCurrent()).toBe(false);
  const begun = systemClock.monotonic();
  await a.changes.waitForAllNodes();
  expect(systemClock.monotonic() - begun).toBeLessThan(2500);
});

it.each([
  ['runs', 100, true],
  ['is stopped', 20_000, false],
])('while a query is unanswered a node %s, %i ms at a time: it shows copies: %s', async (_, step, shows) => {
  const clock = createSkippingClock();
  const b = await following(await createPostgresDatabase(), 'b', clock);
  expect(await b.changes.mayShow()).toBe(true);
  b.halt(new Promise(() => {}));
  for (let passed = 0; passed < 20_000; passed += step) {
    clock.skip(step);
    await setImmediate();
  }
  expect(b.changes.isCurrent()).toBe(false);
  const shown = b.changes.mayShow();
  clock.skip(step);
  expect(await shown).toBe(shows);
});
