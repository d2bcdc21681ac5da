import { sql } from 'kysely';
import pg from 'pg';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { statement } from '../../test/fixtures/databases.ts';
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

  it.each(['set tcp_keepalives', 'select pg_try_advisory_lock'])(
    'a session whose first "%s" fails is ended',
    async (start) => {
      const { query } = pg.Client.prototype;
      const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
        this: pg.Client,
        ...all
      ) {
        if (String(all[0]).startsWith(start)) throw new Error('timeout');
        return Reflect.apply(query, this, all);
      });
      const opening = openServerLock({ location, ...quiet, shared: true });
      await expect(opening.finally(() => spy.mockRestore())).rejects.toThrow('timeout');
      const others = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
      await expect.poll(async () => (await statement(location, `select ${others}`)).rowCount).toBe(0);
    },
  );
});
