import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { catalogOf, layerNamed } from '../../../test/fixtures/http-app.ts';
import { createPostgresDatabase } from '../../../test/fixtures/shared-services.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { leadAlone } from '../../db/database.ts';
import { openDatabase } from '../../db/open-database.ts';
import { createTileEvents } from '../../domain/tile-events.ts';
import { systemClock } from '../../lib/clock.ts';
import { Counters } from '../../lib/counters.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createDeliveryStore, DELIVERIES_WAITING } from './delivery-store.ts';
import { notificationTarget, type OutgoingRequest, purgeTarget } from './delivery-targets.ts';
import { openDeliveries } from './open-deliveries.ts';

const ops = { name: 'ops', url: 'http://127.0.0.1:1/', secret: 'hush', events: [] };
const cdn = { name: 'cdn', url: 'http://127.0.0.1:1/', method: 'PURGE', header: 'xkey-purge', headers: {} };

async function fixture(
  send: (request: OutgoingRequest, signal: AbortSignal) => Promise<void>,
  obeyed = async () => {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-deliveries-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  const clock = createVirtualClock();
  const location = join(folder, 'test.db');
  const database = await openDatabase({ location, clock, log: silentLogger, synced: false });
  whenOver(() => database.close());
  const events = createTileEvents();
  const catalog = catalogOf([layerNamed('roads'), layerNamed('rails')]);
  const tried: string[] = [];
  const open = () => {
    const deliveries = openDeliveries({
      ...{ database, catalog, events, obeyed, send, clock, log: silentLogger },
      targets: [purgeTarget(cdn, 'xkey'), notificationTarget(ops)],
      lead: leadAlone,
      counters: new Counters(),
      tryHost: ({ host }) => tried.push(host),
    });
    whenOver(() => deliveries.close());
    return deliveries;
  };
  return { clock, database, events, open, tried, store: createDeliveryStore(database) };
}

const drop = (layer: string) => ({ type: 'layer-dropped', layer, at: 0 }) as const;

it('a change is acknowledged when its purge is recorded, after every node obeys', async () => {
  const order: string[] = [];
  const { events, open, store } = await fixture(
    async () => {},
    async () => {
      order.push(`obeyed with ${(await store.list()).length} recorded`);
    },
  );
  const deliveries = open();
  events.emit(drop('roads'));
  await Promise.all([deliveries.flush(), deliveries.flush()]);
  expect(order[0]).toBe('obeyed with 0 recorded');
  expect(await store.list()).toMatchObject([{ kind: 'purge', name: 'cdn' }]);
});

it('changes while a purge fails are merged into it, and it is sent with all keys', async () => {
  const sent: string[] = [];
  let broken = true;
  const { events, open, store, clock } = await fixture(async ({ headers }) => {
    if (broken) throw new Error('answered 503 to hush');
    sent.push(headers['xkey-purge'] ?? '');
  });
  const deliveries = open();
  events.emit(drop('roads'));
  await deliveries.flush();
  await eventually(
    'a failure',
    () => store.list(),
    ([one]) => one?.attempts === 1,
  );
  events.emit(drop('rails'));
  await deliveries.flush();
  expect(await store.list()).toMatchObject([{ state: 'pending', payload: { roads: null, rails: null } }]);
  broken = false;
  await eventually(
    'delivery',
    async () => {
      await clock.run(1000);
      return (await deliveries.list())[0]?.state;
    },
    (state) => state === 'delivered',
  );
  expect(sent).toEqual(['layer-roads layer-rails']);
});

it('keys that are merged while a purge is being sent are sent too', async () => {
  const sent: string[] = [];
  const begun = { first: () => {} };
  const held = new Promise<void>((resolve) => {
    begun.first = resolve;
  });
  const { events, open, store } = await fixture(async ({ headers }) => {
    sent.push(headers['xkey-purge'] ?? '');
    if (sent.length === 1) await held;
  });
  const deliveries = open();
  events.emit(drop('roads'));
  await deliveries.flush();
  await eventually(
    'sending',
    () => sent.length,
    (length) => length === 1,
  );
  events.emit(drop('rails'));
  await deliveries.flush();
  begun.first();
  await eventually(
    'delivery',
    () => store.list(),
    ([one]) => one?.state === 'delivered',
  );
  expect(sent).toEqual(['layer-roads', 'layer-roads layer-rails']);
});

it('a notification is retried after 1 s, doubling to 60 s, with the same id, and given up after 24 hours', async () => {
  const bodies: string[] = [];
  const { open, store, clock, database } = await fixture(async ({ body }) => {
    bodies.push(body ?? '');
    throw new Error('answered 503 to hush');
  });
  const deliveries = open();
  const payload = { event: 'task-failed', layer: null, message: 'x', details: {} };
  await store.report(['ops'], payload, { subject: 'task:1' });
  await store.report(['ops'], payload, { subject: 'task:1' });
  const pauses: number[] = [];
  const rows = database.change.updateTable('deliveries');
  for (let attempt = 1; attempt <= 8; attempt++) {
    await eventually(
      'an attempt',
      () => store.list(),
      ([one]) => one?.attempts === attempt,
    );
    const { next_at } = await database.query
      .selectFrom('deliveries')
      .select('next_at')
      .executeTakeFirstOrThrow();
    pauses.push((next_at - clock.now()) / 1000);
    await rows.set({ next_at: clock.now() }).execute();
    await database.notify(DELIVERIES_WAITING);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(new Set(bodies).size).toBe(1);
  expect(await deliveries.list()).toMatchObject([
    { event: 'task-failed', state: 'pending', lastError: 'answered 503 to ***' },
  ]);
  await rows.set({ until: clock.now(), next_at: clock.now() }).execute();
  await database.notify(DELIVERIES_WAITING);
  await eventually(
    'the end',
    () => deliveries.list(),
    ([one]) => one?.state === 'failed',
  );
});

it('no more notifications wait for a target than may, and the oldest are given up', async () => {
  const { database } = await fixture(async () => {});
  const store = createDeliveryStore(database, 3);
  for (let index = 0; index < 5; index++) {
    await store.report(['ops'], { event: 'task-failed' }, { subject: `task:${index}` });
  }
  const counts = await store.counts();
  expect(counts.find(({ state }) => state === 'pending')?.count).toBe(3);
  expect(counts.find(({ state }) => state === 'failed')?.count).toBe(2);
});

it('a target that hangs does not hold up the others', async () => {
  const { events, open, store } = await fixture(async ({ method }, signal) => {
    if (method === 'POST') await once(signal, 'abort');
  });
  const deliveries = open();
  await store.report(['ops'], { event: 'task-failed' }, { subject: 'task:1' });
  events.emit(drop('roads'));
  await deliveries.flush();
  await eventually(
    'delivery',
    () => store.list(),
    (all) => all.some(({ state }) => state === 'delivered'),
  );
});

it('the queue in PostgreSQL merges, fails, delivers and forgets as the one in SQLite', async () => {
  const location = await createPostgresDatabase();
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  whenOver(() => database.close());
  const store = createDeliveryStore(database, 2);
  await store.purge(['cdn'], { roads: ['a'] });
  await store.purge(['cdn'], { roads: ['b'], rails: null });
  const due = await store.due({ kind: 'purge', name: 'cdn' });
  expect(due).toMatchObject({ payload: { roads: ['a', 'b'], rails: null }, attempts: 0, revision: 1 });
  if (due) await store.failed(due, 'no');
  expect(await store.due({ kind: 'purge', name: 'cdn' })).toBeNull();
  if (due) await store.delivered({ ...due, attempts: 1 });
  for (const subject of ['a', 'b', 'b', 'c']) await store.report(['ops'], { event: 'x' }, { subject });
  await store.recovered(['ops'], { event: 'y' }, 'a');
  await store.recovered(['ops'], { event: 'y' }, 'a');
  await store.forget([{ kind: 'purge', name: 'cdn' }]);
  const counts = Object.fromEntries(
    (await store.counts()).map((one) => [`${one.name} ${one.state}`, one.count]),
  );
  expect(counts).toEqual({ 'cdn delivered': 1, 'ops failed': 4 });
});

it('a test is sent to a failing target now, as a signed notification or a key that no tile has', async () => {
  const requests: OutgoingRequest[] = [];
  let broken = true;
  const { open, tried, store } = await fixture(async (request) => {
    if (broken) throw new Error('answered 503 to hush');
    requests.push(request);
  });
  const deliveries = open();
  const { signal } = new AbortController();
  expect(await deliveries.sendTest({ kind: 'notification', name: 'ops' }, signal)).toMatchObject({
    error: 'answered 503 to ***',
  });
  broken = false;
  expect(await deliveries.sendTest({ kind: 'notification', name: 'ops' }, signal)).toMatchObject({
    error: null,
  });
  expect(await deliveries.sendTest({ kind: 'purge', name: 'cdn' }, signal)).toMatchObject({ error: null });
  expect(await deliveries.sendTest({ kind: 'purge', name: 'ops' }, signal)).toBeNull();
  const [notification, purge] = requests;
  expect(JSON.parse(notification?.body ?? '')).toMatchObject({ event: 'test', layer: null });
  expect(notification?.headers['x-hub-signature-256']).toMatch(/^sha256=/);
  expect(purge?.headers['xkey-purge']).toBe('tilewarden-test');
  expect(tried).toEqual(['127.0.0.1:1', '127.0.0.1:1', '127.0.0.1:1']);
  expect(await store.list()).toEqual([]);
});

it('a target is failing while a delivery waits for another attempt, and shows its last delivery', async () => {
  let broken = true;
  const { open, store, clock } = await fixture(async () => {
    if (broken) throw new Error('answered 503 to hush');
  });
  const deliveries = open();
  const ofOps = async () => (await deliveries.targets()).find(({ name }) => name === 'ops');
  expect(await ofOps()).toMatchObject({ state: 'ok', pending: 0, lastDeliveredAt: null, lastError: null });
  await store.report(['ops'], { event: 'task-failed' }, { subject: 'task:1' });
  const failing = await eventually('a failed attempt', ofOps, (target) => target?.state === 'failing');
  expect(failing).toMatchObject({ pending: 1, lastError: 'answered 503 to ***', host: '127.0.0.1:1' });
  broken = false;
  const again = await eventually(
    'delivery',
    async () => {
      await clock.run(1000);
      return ofOps();
    },
    (target) => target?.state === 'ok',
  );
  expect(again).toMatchObject({
    pending: 0,
    lastError: null,
    lastDeliveredAt: expect.stringMatching(/^2026-/),
  });
});
