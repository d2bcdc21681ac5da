import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { openDatabase } from '../db/open-database.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openServerLock } from './server-lock.ts';

const quiet = { clock: systemClock, log: silentLogger };

/** On which every pause is longer than a start waits for the lock. */
function impatientClock(): Clock {
  let elapsed = 0;
  return {
    ...systemClock,
    monotonic: () => elapsed,
    async sleep() {
      elapsed += 60_000;
    },
  };
}

describe('the lock of a server whose stores lie on its own disk', () => {
  let location = '';
  beforeAll(async () => {
    location = await createPostgresDatabase();
  });

  it('the lock of a server with local stores is refused to a second, and free again when the first ends', async () => {
    const take = () => openServerLock({ location, ...quiet, clock: impatientClock(), shared: false });
    const first = await take();
    expect(first).not.toBeNull();
    expect(await take()).toBeNull();
    await first?.close();
    const second = await take();
    expect(second).not.toBeNull();
    await second?.close();
  });

  it('the server lock is shared by servers whose stores can be shared, and not with one whose cannot', async () => {
    const take = (shared: boolean) => openServerLock({ location, ...quiet, clock: impatientClock(), shared });
    const [first, second] = [await take(true), await take(true)];
    expect(first).not.toBeNull();
    expect(second).not.toBeNull();
    expect(await take(false)).toBeNull();
    await first?.close();
    await second?.close();
    const local = await take(false);
    expect(local).not.toBeNull();
    expect(await take(true)).toBeNull();
    await local?.close();
  });

  it('the server lock is taken again when its connection breaks', async () => {
    const database = await openDatabase({ location, ...quiet });
    const lock = await openServerLock({ location, ...quiet, shared: false });
    const holders = async () => {
      const found = sql<{ pid: number }>`select pid from pg_locks l join pg_database d on d.oid = l.database
        where locktype = 'advisory' and datname = current_database()`;
      return (await found.execute(database.query)).rows.map(({ pid }) => pid);
    };
    const [first] = await holders();
    await sql`select pg_terminate_backend(${first})`.execute(database.query);
    await expect.poll(async () => (await holders()).filter((pid) => pid !== first).length).toBe(1);
    await lock?.close();
    await database.close();
  });
});
