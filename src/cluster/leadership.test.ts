import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { eventually } from '../../test/fixtures/eventually.ts';
import { openDatabaseProxy } from '../../test/fixtures/network.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openLeadership } from './leadership.ts';

const quiet = { clock: systemClock, log: silentLogger };

/** A node that notes when it leads. */
function stand(location: string, clock = systemClock) {
  const seen = { leads: false, terms: 0, running: 0 };
  const leadership = openLeadership({
    location,
    ...quiet,
    clock,
    changed: (leads) => {
      seen.leads = leads;
    },
  });
  const job = leadership.lead(async (signal) => {
    seen.terms++;
    seen.running++;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    seen.running--;
  });
  const close = async () => {
    await job.close();
    await leadership.close();
  };
  whenOver(close);
  return { seen, close };
}

it('one node at a time leads, and another takes over when it ends', async () => {
  const location = await createPostgresDatabase();
  const nodes = [stand(location), stand(location), stand(location)];
  const leading = () => nodes.filter(({ seen }) => seen.leads);
  await eventually('one leads', leading, (some) => some.length === 1);
  const [first] = leading();
  expect(nodes.reduce((sum, { seen }) => sum + seen.running, 0)).toBe(1);
  await first?.close();
  expect(first?.seen).toMatchObject({ leads: false, running: 0 });
  await eventually('another leads', leading, (some) => some.length === 1 && some[0] !== first);
});

it('a node whose connection breaks stops immediately, and may lead again', async () => {
  const location = await createPostgresDatabase();
  const database = await openDatabase({ location, ...quiet });
  whenOver(() => database.close());
  const node = stand(location);
  await eventually('it leads', () => node.seen.running === 1);
  await sql`select pg_terminate_backend(pid) from pg_locks join pg_database d on d.oid = database
    where locktype = 'advisory' and datname = current_database() and objsubid = 1 and pid != pg_backend_pid()`.execute(
    database.query,
  );
  await eventually('it has noticed', () => node.seen.terms === 2 || !node.seen.leads);
  await eventually('it leads again', () => node.seen.terms === 2 && node.seen.running === 1);
});

it('a node that was stopped for longer than its lease ends its term, though its connection is whole', async () => {
  const location = await createPostgresDatabase();
  let stoppedFor = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + stoppedFor };
  const node = stand(location, clock);
  await eventually('it leads', () => node.seen.running === 1);
  stoppedFor = 60_000;
  await eventually('it leads again', () => node.seen.terms === 2);
});

it('a node that is cut off from the database has stopped before another begins', async () => {
  const address = await createPostgresDatabase();
  const proxy = await openDatabaseProxy(address);
  whenOver(() => proxy.close());
  const cutOff = stand(proxy.address);
  await eventually('the first leads', () => cutOff.seen.leads);
  const other = stand(address);
  proxy.block();
  await eventually('the other leads', () => other.seen.leads);
  expect(cutOff.seen).toMatchObject({ leads: false, running: 0 });
  proxy.mend();
});
