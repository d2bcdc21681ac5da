import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { errorCopier } from '../domain/error-copier.ts';
import { TilewardenError } from '../domain/errors.ts';
import { messageKind } from '../lib/channel.ts';
import { ifLate } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { openThread } from '../lib/open-thread.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { STANDINGS, type Standing } from './login-throttle.ts';

interface DerivationJob {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly cost: ScryptCost;
}

/** A request to the password thread; the response is the derived key. */
export const DERIVE_KEY = messageKind<DerivationJob, Uint8Array>('derive-key');

/** Places in the queue, by standing of the source; further callers must retry. A flood is `restless`: it fills only two. */
const PLACES: Readonly<Record<Standing, number>> = { known: 8, calm: 6, restless: 2 };
const RETRY_AFTER_SECONDS = 2;
/** Below the limit of idle connections in `http/limits.ts`, which ends a connection without a response. */
const MAX_WAIT_MS = 90_000;

export type PasswordHasher = ReturnType<typeof openPasswordHasher>;

/**
 * Derives keys on a thread of its own, one after another. Node's thread pool also reads files: four concurrent logins
 * would delay every tile.
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

  /** Better standings go first; others wait up to `MAX_WAIT_MS`. */
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
      const salt = randomBytes(SALT_BYTES);
      const key = await derive({ password, salt, cost }, 'known');
      return formatStored({ cost, salt, key: Buffer.from(key) });
    },

    /** `stored` null: the user does not exist; the check takes as long and never matches. */
    async check(password: string, stored: string | null, standing: Standing) {
      const known = stored === null ? null : parseStored(stored);
      const { cost: storedCost, salt, key } = known ?? unmatchable;
      const derived = await derive({ password, salt, cost: storedCost }, standing);
      const matches = derived.length === key.length && timingSafeEqual(derived, key) && known !== null;
      /** `outdated`: stored at another cost than new passwords; the caller stores it again. */
      return { matches, outdated: !isDeepStrictEqual(storedCost, cost) };
    },

    async close(): Promise<void> {
      closing.abort(new TilewardenError('stopping', 'The server is stopping.'));
      await thread.close();
    },
  };
}

function tooMany(): TilewardenError {
  const message = 'Too many concurrent login attempts; try again shortly.';
  return new TilewardenError('attempts-throttled', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** 64 MiB and 0.3 to 0.5 s on current hardware. */
export const DEFAULT_COST = { logN: 16, r: 8, p: 2 };
/** Memory of one guess: 2^logN · r · 128 bytes; time: p times as much. */
export type ScryptCost = Readonly<typeof DEFAULT_COST>;

interface StoredPassword {
  readonly cost: ScryptCost;
  readonly salt: Buffer;
  readonly key: Buffer;
}

const KEY_BYTES = 32;
const SALT_BYTES = 16;
const STORED = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** Takes long and blocks: for the password thread only. */
export function deriveKey(password: string, salt: Uint8Array, { logN, r, p }: ScryptCost): Buffer {
  const N = 2 ** logN;
  // RFC 7914, 2: N · r · 128 bytes, plus some overhead.
  const maxmem = N * r * 128 + p * r * 128 + 1024 * 1024;
  return scryptSync(password.normalize('NFC'), salt, KEY_BYTES, { N, r, p, maxmem });
}

/** Self-describing, e.g. `$scrypt$ln=16,r=8,p=2$<salt>$<key>`, so that the cost can rise without a flag day. */
function formatStored({ cost, salt, key }: StoredPassword): string {
  return `$scrypt$ln=${cost.logN},r=${cost.r},p=${cost.p}$${plainBase64(salt)}$${plainBase64(key)}`;
}

/** Null for an unknown format, and for costs that would stall the thread. */
export function parseStored(text: string): StoredPassword | null {
  const [, logN, r, p, salt = '', key = ''] = STORED.exec(text) ?? [];
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  const sane = cost.logN >= 1 && cost.logN <= 20 && cost.r >= 1 && cost.r <= 16 && cost.p >= 1 && cost.p <= 8;
  if (!sane) return null;
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}

/** A stored password that nothing matches: checking one against it takes as long as against a real one. */
function createUnmatchable(cost: ScryptCost): StoredPassword {
  return { cost, salt: randomBytes(SALT_BYTES), key: randomBytes(KEY_BYTES) };
}

function plainBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
