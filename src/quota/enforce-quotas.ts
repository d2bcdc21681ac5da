import type { Logger } from '../lib/logger.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { type CleanUpParts, cleanUp, sumOf } from './clean-up.ts';
import type { Evictions } from './evictions.ts';
import { cleanUpPeriod, type QuotaConfiguration, type QuotaSettings } from './quota-configuration.ts';
import {
  type Credit,
  creditLeft,
  globalScope,
  layerScopes,
  type QuotaCredit,
  type QuotaScope,
  toleratedAbove,
} from './quota-credit.ts';

interface EnforcerOptions extends CleanUpParts {
  readonly settings: QuotaSettings;
  readonly credit: QuotaCredit;
  readonly evictions: Evictions;
  /** Called when usage is above a quota and eviction begins. */
  readonly onFull?: (scope: QuotaScope) => void;
  readonly log: Logger;
}

/** Milliseconds between looks at the usage; what grows faster than the clean-up period allows is met earlier. */
const WATCH_INTERVAL = 250;
/** Between looks whether another node has switched the quota on. */
const IDLE_INTERVAL = 1000;
/** A look at the stores takes at most this share of the time, unless writers wait for it. */
const WATCH_SHARE = 0.03;
/** Milliseconds between looks whether writers have used up what they were allowed. */
const STARVED_INTERVAL = 50;
/** Bytes of credit below which writers practically wait. */
const STARVED_BYTES = 2 * 1024 ** 2;
/** Shares of the tolerance above a quota: where cleaning begins, where writers wait, and the reserve of clients. */
const EARLY = 0.25;
const WRITERS_SHARE = 0.4;
const RESERVE_SHARE = 0.15;
/** While writers wait, cleaning goes on below the quota, by this share of it or of the tolerance. */
const BELOW_SHARE = 0.05;
/** The allowance is written again only when it has changed by this share of the rest. */
const NEWS_SHARE = 1 / 8;

/**
 * Keeps the stores within their quotas until the signal aborts: every clean-up period, and immediately when usage runs away
 * between two.
 */
export async function enforceQuotas(options: EnforcerOptions, signal: AbortSignal): Promise<void> {
  const { settings, credit, evictions, ledger, queues, clock, log } = options;
  let wake = new AbortController();

  /** Whether pages were removed, and whether usage is still above a quota. */
  async function look(configuration: QuotaConfiguration, thoroughly: boolean) {
    const before = await credit.read();
    if (!configuration.enabled) {
      if (before.length > 0) await credit.allow([]);
      return { removed: false, over: false };
    }
    queues.keepOnly(scopesOf(configuration));
    await ledger.refresh();
    const starved = new Set(before.filter(isStarved).map(({ scope }) => scope));
    const removed = await enforce(configuration, thoroughly ? 0 : EARLY, starved);
    // What was taken before the stores are looked at is in the usage, or will be: it counts twice rather than never.
    const after = removed ? await credit.read() : before;
    if (removed) await ledger.refresh();
    await allow(configuration, after);
    return { removed, over: scopesOf(configuration).some((scope) => isOver(scope, 0)) };
  }

  function isOver(scope: QuotaScope, slack: number): boolean {
    return ledger.diskBytes(scope.layer) > scope.limit + slack * toleratedAbove(scope);
  }

  /** `slack`: the share of the tolerance up to which nothing is removed. */
  async function enforce(
    configuration: QuotaConfiguration,
    slack: number,
    starved: ReadonlySet<string>,
  ): Promise<boolean> {
    const turns = new Semaphore(configuration.maxConcurrentCleanUps);
    const keepNow = (scope: QuotaScope) =>
      starved.has(scope.scope) ? keepWithin(lowered(scope), 0) : keepWithin(scope, slack);
    const keep = (scope: QuotaScope) => turns.during(() => keepNow(scope), signal);
    const layers = await Promise.all(layerScopes(configuration).map(keep));
    const everything = await keep(globalScope(configuration));
    return [...layers, everything].includes(true);
  }

  async function keepWithin(scope: QuotaScope, slack: number): Promise<boolean> {
    if (!isOver(scope, slack)) return false;
    options.onFull?.(scope);
    const evicted = await cleanUp(scope, options, signal);
    if (evicted.size === 0) return false;
    await evictions.add(evicted, clock.now());
    log.info({ ...sumOf(evicted), policy: scope.policy }, 'removed tiles to keep a quota');
    return true;
  }

  /** Lets writers add as much as keeps the usage within the tolerance, counted from the credit they had taken. */
  async function allow(configuration: QuotaConfiguration, taken: readonly Credit[]): Promise<void> {
    const credits = scopesOf(configuration).map((scope) => {
      const tolerated = toleratedAbove(scope);
      const known = taken.find((credit) => credit.scope === scope.scope);
      const room = scope.limit + tolerated * WRITERS_SHARE - ledger.diskBytes(scope.layer);
      const allowed = Math.floor((known?.taken ?? 0) + Math.max(0, room));
      return { scope: scope.scope, allowed, reserve: Math.floor(tolerated * RESERVE_SHARE) };
    });
    const same = credits.length === taken.length && credits.every((next) => !hasChanged(next, taken));
    if (!same) await credit.allow(credits);
  }

  async function pause(configuration: QuotaConfiguration): Promise<void> {
    if (!configuration.enabled) return sleep(IDLE_INTERVAL);
    const watch = Math.max(WATCH_INTERVAL, ledger.lastRefresh / WATCH_SHARE);
    const until = clock.monotonic() + Math.min(watch, cleanUpPeriod(configuration));
    const soonest = clock.monotonic() + Math.max(STARVED_INTERVAL, ledger.lastRefresh);
    while (clock.monotonic() < until && !signal.aborted && !wake.signal.aborted) {
      await sleep(Math.min(STARVED_INTERVAL, until - clock.monotonic()));
      if (clock.monotonic() >= soonest && (await credit.read()).some(isStarved)) return;
    }
  }

  async function sleep(ms: number): Promise<void> {
    const either = AbortSignal.any([signal, wake.signal]);
    await clock.sleep(ms, either).catch(() => undefined);
  }

  const unsubscribe = settings.subscribe(() => wake.abort());
  await run().finally(unsubscribe);

  async function run(): Promise<void> {
    let cleanedAt = Number.NEGATIVE_INFINITY;
    let unfinished = false;
    while (!signal.aborted) {
      try {
        const configuration = await settings.read();
        const due = wake.signal.aborted || clock.monotonic() - cleanedAt >= cleanUpPeriod(configuration);
        if (due) {
          cleanedAt = clock.monotonic();
          wake = new AbortController();
        }
        const { removed, over } = await look(configuration, due || unfinished);
        unfinished = over && (due || unfinished);
        if (!removed || !over) await pause(configuration);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'the disk quota could not be enforced; retrying soon');
        await sleep(WATCH_INTERVAL);
      }
    }
  }
}

function scopesOf(configuration: QuotaConfiguration): readonly QuotaScope[] {
  return [...layerScopes(configuration), globalScope(configuration)];
}

function lowered(scope: QuotaScope): QuotaScope {
  const below = Math.min(scope.limit * BELOW_SHARE, toleratedAbove(scope) * WRITERS_SHARE);
  return { ...scope, limit: Math.floor(scope.limit - below) };
}

function isStarved(credit: Credit): boolean {
  return creditLeft(credit, false) < STARVED_BYTES;
}

function hasChanged({ scope, allowed, reserve }: Omit<Credit, 'taken'>, known: readonly Credit[]): boolean {
  const before = known.find((credit) => credit.scope === scope);
  if (!before || before.reserve !== reserve) return true;
  const left = Math.min(creditLeft(before, false), creditLeft({ ...before, allowed }, false));
  return Math.abs(before.allowed - allowed) > left * NEWS_SHARE;
}
