import type { Database } from '../db/database.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { LoginThrottle } from './login-throttle.ts';

export interface SharedFailuresOptions extends Env {
  readonly database: Database;
  /** Names this process among those on the database. */
  readonly instance: string;
  readonly throttle: Pick<LoginThrottle, 'failedElsewhere'>;
}

const CHANNEL = 'login-failed';
/** Milliseconds. Older failures have been read already, or are nearly forgiven. */
const READ_WITHIN_MS = 60_000;
const KEPT_FOR = 10 * 60_000;
const LOOK_INTERVAL = 5000;
const MAX_FAILURES_READ = 1000;

/** Reports failed logins to the other nodes, and theirs to the throttle of this one. */
export function openSharedFailures({ database, instance, throttle, clock, log }: SharedFailuresOptions) {
  let seen = new Set<number>();

  async function look(): Promise<void> {
    const now = await database.now();
    const rows = await database.query
      .selectFrom('login_failures')
      .selectAll()
      .where('at', '>', now - READ_WITHIN_MS)
      .where('instance', '!=', instance)
      .orderBy('id', 'desc')
      .limit(MAX_FAILURES_READ)
      .execute();
    for (const { id, source, account } of rows) if (!seen.has(id)) throttle.failedElsewhere(source, account);
    seen = new Set(rows.map(({ id }) => id));
  }

  async function record(source: string, account: string): Promise<void> {
    const at = await database.now();
    await database.transaction(null, async (query) => {
      await query
        .deleteFrom('login_failures')
        .where('at', '<', at - KEPT_FOR)
        .execute();
      await query.insertInto('login_failures').values({ at, instance, source, account }).execute();
    });
    await database.notify(CHANNEL);
  }

  const looks = openRepeater(look, {
    clock,
    log,
    pause: LOOK_INTERVAL,
    listen: (wake) => database.listen(CHANNEL, wake),
    level: 'debug',
    failure: 'failed logins on other nodes could not be read',
  });
  return {
    failed(source: string, account: string): void {
      record(source, account).catch((error: unknown) =>
        log.warn({ err: error }, 'a failed login could not be shared with other nodes'),
      );
    },
    close: looks.close,
  };
}
