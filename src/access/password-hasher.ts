import { errorCopier } from '../domain/error-copier.ts';
import { TilewardenError } from '../domain/errors.ts';
import { messageKind } from '../lib/channel.ts';
import { ifLate } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { openThread } from '../lib/open-thread.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { STANDINGS, type Standing } from './login-throttle.ts';
import {
  createSalt,
  createUnmatchable,
  DEFAULT_COST,
  formatStored,
  parseStored,
  type ScryptCost,
  sameCost,
  sameKey,
} from './password-hash.ts';

interface DerivationJob {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly cost: ScryptCost;
}

/** To the password thread; answered with the key. */
export const DERIVE_KEY = messageKind<DerivationJob, Uint8Array>('derive-key');

/** How many may wait, by standing; others have to retry. A flood takes only the last places. */
const PLACES: Readonly<Record<Standing, number>> = { known: 8, calm: 6, restless: 2 };
const COME_BACK_SECONDS = 2;
/** Less than the limit of idle connections in http/limits.ts: that one ends a connection without an answer. */
const MAX_WAIT_MS = 90_000;

export type PasswordHasher = ReturnType<typeof openPasswordHasher>;

/**
 * Derives keys on one thread of its own, one after the other. The pool of threads that Node keeps is shared with
 * reading files: four concurrent logins would hold up every tile.
 */
export function openPasswordHasher({ log, clock }: Env, cost = DEFAULT_COST) {
  const unmatchable = createUnmatchable(cost);
  const closing = new AbortController();
  const turns = new Semaphore(1);
  const waiting = { known: 0, calm: 0, restless: 0 };
  const thread = openThread({
    start: () => spawnThread(import.meta.url, 'password-thread'),
    errors: errorCopier,
    log,
    died: 'the thread that checks passwords died; the next password starts another',
  });

  /** Better standings go first, so that in a flood a turn may never come. */
  function nextTurn(standing: Standing): Promise<() => void> {
    const late = new AbortController();
    const ends = AbortSignal.any([closing.signal, late.signal]);
    const wait = () => turns.acquire(ends, -STANDINGS.indexOf(standing));
    return ifLate(clock, MAX_WAIT_MS, () => late.abort(tooMany()), wait);
  }

  async function derive(job: DerivationJob, standing: Standing): Promise<Uint8Array> {
    const waits = turns.inUse > 0 ? 1 : 0;
    if (waits && waiting[standing] >= PLACES[standing]) throw tooMany();
    waiting[standing] += waits;
    const release = await nextTurn(standing).finally(() => {
      waiting[standing] -= waits;
    });
    try {
      closing.signal.throwIfAborted();
      return await thread.ask(DERIVE_KEY, job);
    } catch (error) {
      closing.signal.throwIfAborted();
      throw error;
    } finally {
      release();
    }
  }

  return {
    async hash(password: string): Promise<string> {
      const salt = createSalt();
      const key = await derive({ password, salt, cost }, 'known');
      return formatStored({ cost, salt, key: Buffer.from(key) });
    },

    /** `stored` null: the user does not exist; the check takes as long and never matches. */
    async check(password: string, stored: string | null, standing: Standing) {
      const known = stored === null ? null : parseStored(stored);
      const { cost: paid, salt, key } = known ?? unmatchable;
      const derived = await derive({ password, salt, cost: paid }, standing);
      const matches = sameKey(derived, key) && known !== null;
      /** `outdated`: it was stored at another cost than passwords are now; store it again. */
      return { matches, outdated: !sameCost(paid, cost) };
    },

    async close(): Promise<void> {
      closing.abort(new TilewardenError('stopping', 'The server is stopping.'));
      await thread.close();
    },
  };
}

function tooMany(): TilewardenError {
  const message = 'Too many concurrent login attempts; try again shortly.';
  return new TilewardenError('attempts-throttled', message, { retryAfterSeconds: COME_BACK_SECONDS });
}
