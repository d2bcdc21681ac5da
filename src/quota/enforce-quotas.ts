import type { Logger } from '../lib/logger.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { type CleanUpParts, cleanUp, sumOf } from './clean-up.ts';
import type { Evictions } from './evictions.ts';
import { cleanUpPeriod, type QuotaConfiguration, type QuotaSettings } from './quota-configuration.ts';
import {
  globalScope,
  layerScopes,
  type QuotaScope,
  scopesOf,
  toleratedAbove,
  writersLimit,
} from './quota-scopes.ts';
import { readUsedBytes, type UsedBytes } from './usage-report.ts';

interface EnforcerOptions extends CleanUpParts {
  readonly settings: QuotaSettings;
  readonly evictions: Pick<Evictions, 'add'>;
  /** Resolves when the stores have recorded the uses that this process has gathered. */
  readonly saveUses: () => Promise<void>;
  /** Called when usage is above a quota and eviction begins. */
  readonly onFull?: (scope: QuotaScope) => void;
  readonly log: Logger;
}

interface Enforced {
  /** Whether pages were removed. */
  readonly removed: boolean;
  /** Whether usage is still above a quota. */
  readonly over: boolean;
}

/** Milliseconds between readings of the usage; fast growth is met before the clean-up period ends. */
const WATCH_INTERVAL = 250;
/** The same above a quota, where writers may wait. */
const FULL_INTERVAL = 50;
/** Between checks whether another node has switched the quota on. */
const IDLE_INTERVAL = 1000;
/** A reading of the usage takes at most this share of the time. */
const WATCH_SHARE = 0.03;
/** The share of the tolerance above a quota at which cleaning begins between two periods. */
const EARLY = 0.25;
/** Writers count as waiting from so many bytes below their limit. */
const STARVED_BYTES = 2 * 1024 ** 2;
/** While writers wait, cleaning continues below the quota, by this share of it or of the tolerance. */
const BELOW_SHARE = 0.05;
const BELOW_TOLERANCE = 0.4;

/**
 * Keeps the stores within their quotas until the signal aborts: every clean-up period, and in between when usage grows
 * fast.
 */
export async function enforceQuotas(options: EnforcerOptions, signal: AbortSignal): Promise<void> {
  const { settings, evictions, stores, clock, log } = options;
  let wake = new AbortController();
  /** Milliseconds of the last reading. */
  let took = 0;

  /** `thoroughly`: everything above a quota is removed, not only what exceeds it by `EARLY`. */
  async function enforce(configuration: QuotaConfiguration, thoroughly: boolean): Promise<Enforced> {
    const turns = new Semaphore(configuration.maxConcurrentCleanUps);
    const keep = (used: UsedBytes) => (scope: QuotaScope) =>
      turns.during(() => keepWithin(scope, used(scope.layer), thoroughly), signal);
    const before = await readUsage();
    const layers = await Promise.all(layerScopes(configuration).map(keep(before)));
    const between = layers.includes(true) ? await readUsage() : before;
    const everything = await keep(between)(globalScope(configuration));
    const after = everything ? await readUsage() : between;
    const over = scopesOf(configuration).some(({ layer, limit }) => after(layer) > limit);
    return { removed: everything || layers.includes(true), over };
  }

  async function readUsage(): Promise<UsedBytes> {
    const begun = clock.monotonic();
    const used = await readUsedBytes(stores);
    took = clock.monotonic() - begun;
    return used;
  }

  async function keepWithin(scope: QuotaScope, used: number, thoroughly: boolean): Promise<boolean> {
    const slack = thoroughly ? 0 : EARLY * toleratedAbove(scope);
    if (used <= scope.limit + slack) return false;
    options.onFull?.(scope);
    const plan = { excess: used - targetOf(scope, used), begunAt: clock.now() };
    // The service reports its failures.
    await options.saveUses().catch(() => undefined);
    const evicted = await cleanUp(scope, plan, options, signal);
    if (evicted.size === 0) return false;
    await evictions.add(evicted, clock.now());
    log.info({ ...sumOf(evicted), policy: scope.policy }, 'removed tiles to keep a quota');
    return true;
  }

  async function pause(configuration: QuotaConfiguration, over: boolean): Promise<void> {
    const watch = Math.max(over ? FULL_INTERVAL : WATCH_INTERVAL, took / WATCH_SHARE);
    await sleep(configuration.enabled ? Math.min(watch, cleanUpPeriod(configuration)) : IDLE_INTERVAL);
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
        const thoroughly: boolean = due || unfinished;
        const { removed, over }: Enforced = configuration.enabled
          ? await enforce(configuration, thoroughly)
          : IDLE;
        unfinished = over && thoroughly;
        if (!removed || !over) await pause(configuration, over);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'the disk quota could not be enforced; retrying soon');
        await sleep(WATCH_INTERVAL);
      }
    }
  }
}

const IDLE: Enforced = { removed: false, over: false };

/** The usage to reach, in bytes. */
function targetOf(scope: QuotaScope, used: number): number {
  if (used < writersLimit(scope, false) - STARVED_BYTES) return scope.limit;
  return scope.limit - Math.min(scope.limit * BELOW_SHARE, toleratedAbove(scope) * BELOW_TOLERANCE);
}
