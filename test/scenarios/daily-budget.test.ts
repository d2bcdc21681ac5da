import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabaseLedger } from '../../src/db/database-ledger.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { LocalTime } from '../../src/lib/local-time.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openUpstreamLimiter } from '../../src/sources/upstream/open-upstream-limiter.ts';
import type { RequestEnd } from '../../src/sources/upstream/upstream-limiter.ts';
import { upstreamOptions } from '../../src/sources/upstream/upstream-options.ts';
import { createVirtualClock, type VirtualClock } from '../fixtures/clocks.ts';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';

const HOST = 'maps.example.org:443';
const ANSWERED: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const BUDGET = 230;
const ZONE = 'Asia/Kolkata';
/** Half past six in the evening, by UTC, is midnight there. */
const MIDNIGHT = Date.parse('2026-11-15T18:30:00Z');
const HOUR = 3_600_000;
const never = new AbortController().signal;

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-budget-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

async function openServer(location: string, clock: VirtualClock) {
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger, synced: false });
  const limiter = openUpstreamLimiter({
    upstreams: { [HOST]: upstreamOptions.parse({ dailyBudget: BUDGET, timeZone: ZONE, adaptive: false }) },
    budgets: createDatabaseLedger(database),
    clock,
    random: Math.random,
    log: silentLogger,
  });
  return {
    limiter,
    async close() {
      await limiter.close();
      await database.close();
    },
  };
}

type Server = Awaited<ReturnType<typeof openServer>>;

/** A client and three tasks request until none is admitted any longer; counts the admitted requests, by the day of the host. */
async function askAll({ limiter }: Server, clock: VirtualClock, sent: Map<string, number>, most = 60) {
  const time = new LocalTime(ZONE);
  const ask = async (priority: 'interactive' | 'task') => {
    for (let i = 0; i < most; i++) {
      const permit = await limiter.acquire(HOST, priority, never).catch(() => null);
      if (!permit) return;
      const { day } = time.at(clock.now());
      sent.set(day, (sent.get(day) ?? 0) + 1);
      await nextTurn();
      permit.end(ANSWERED);
    }
  };
  await Promise.all([ask('interactive'), ask('task'), ask('task'), ask('task')]);
}

describe.each(['SQLite', 'PostgreSQL'])('a daily budget on %s', (kind) => {
  it(`a daily budget on ${kind} is never exceeded over restarts and midnight of its time zone`, async () => {
    const location = kind === 'SQLite' ? join(folder, 'tilewarden.db') : await createPostgresDatabase();
    const clock = createVirtualClock(MIDNIGHT - HOUR);
    const sent = new Map<string, number>();
    for (let life = 0; life < 4; life++) {
      const server = await openServer(location, clock);
      await askAll(server, clock, sent, 25);
      expect(server.limiter.report()[0]?.budget?.used).toBe(Math.min(BUDGET, sent.get('2026-11-15') ?? 0));
      await server.close();
    }
    expect(Object.fromEntries(sent)).toEqual({ '2026-11-15': BUDGET });
    const server = await openServer(location, clock);
    await askAll(server, clock, sent);
    await clock.run(HOUR - 3000);
    await askAll(server, clock, sent);
    await clock.run(3000);
    await askAll(server, clock, sent, 1000);
    // Its clock is set back to the day before, whose budget is used up.
    const late = await openServer(location, createVirtualClock(MIDNIGHT - 60_000));
    await askAll(late, clock, sent);
    await late.close();
    await server.close();
    expect(Object.fromEntries(sent)).toEqual({ '2026-11-15': BUDGET, '2026-11-16': BUDGET });
  });
});

it('a daily budget is shared by servers on one PostgreSQL database', async () => {
  const location = await createPostgresDatabase();
  const clock = createVirtualClock(MIDNIGHT + HOUR);
  const sent = new Map<string, number>();
  const servers = [await openServer(location, clock), await openServer(location, clock)];
  await Promise.all(servers.map((server) => askAll(server, clock, sent, 1000)));
  for (const server of servers) await server.close();
  // Requests that one server reserved and did not use are available to the next.
  const last = await openServer(location, clock);
  await askAll(last, clock, sent, 1000);
  await last.close();
  expect(Object.fromEntries(sent)).toEqual({ '2026-11-16': BUDGET });
});
