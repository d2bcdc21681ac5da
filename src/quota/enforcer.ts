import type { Logger } from '../lib/logger.ts';
import { Semaphore } from '../lib/semaphore.ts';
import {
  add,
  type CleanUpGoal,
  type CleanUpParts,
  cleanUp,
  type Evicted,
  NOTHING_EVICTED,
  usageOf,
} from './clean-up.ts';
import { cleanUpPeriod, type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';
import type { QuotaSettings } from './quota-settings.ts';

export interface EnforcerOptions extends CleanUpParts {
  readonly settings: QuotaSettings;
  readonly log: Logger;
}

/** Milliseconds between looks at the usage; what grows faster than the clean-up period allows is met earlier. */
const WATCH_INTERVAL = 250;
/** A look at the stores takes at most this share of the time. */
const WATCH_SHARE = 0.1;
/** How far above its quota usage may go at most: this share of the quota, or these bytes if they are more. */
const TOLERATED_SHARE = 0.01;
const TOLERATED_BYTES = 64 * 1024 ** 2;
/** Cleaning begins at this share of what is tolerated, since tiles go on coming while it works. */
const EARLY = 0.25;

/** Keeps the stores within their quotas: every clean-up period, and at once when usage runs away between two. */
export class Enforcer {
  readonly #options: EnforcerOptions;
  readonly #stopping = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #loop: Promise<void>;
  #wake = new AbortController();
  #evicted: Evicted = NOTHING_EVICTED;

  constructor(options: EnforcerOptions) {
    this.#options = options;
    this.#unsubscribe = options.settings.subscribe(() => this.#wake.abort());
    this.#loop = this.#run();
  }

  /** Since the start of this process. */
  get evicted(): Evicted {
    return this.#evicted;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    let cleanedAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      try {
        const configuration = await this.#options.settings.read();
        const due =
          this.#wake.signal.aborted || clock.monotonic() - cleanedAt >= cleanUpPeriod(configuration);
        if (due) {
          cleanedAt = clock.monotonic();
          this.#wake = new AbortController();
        }
        if (configuration.enabled) await this.#enforce(configuration, due ? 0 : EARLY);
        await this.#pause(configuration);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'the disk quota could not be enforced; the next try is soon');
        await this.#sleep(WATCH_INTERVAL);
      }
    }
  }

  /** `slack`: the share of what is tolerated that usage may be above its quota before anything is done. */
  async #enforce(configuration: QuotaConfiguration, slack: number): Promise<void> {
    await this.#options.ledger.refresh();
    const turns = new Semaphore(configuration.maxConcurrentCleanUps);
    const layers = configuration.layerQuotas.map(async ({ layer, expirationPolicyName: policy, quota }) => {
      const limit = quotaBytes(quota);
      await this.#keepWithin({ policy, limit, concerns: ({ set }) => set.layer === layer }, slack, turns);
    });
    await Promise.all(layers);
    const { globalExpirationPolicyName: policy, globalQuota } = configuration;
    await this.#keepWithin({ policy, limit: quotaBytes(globalQuota), concerns: () => true }, slack, turns);
  }

  async #keepWithin(goal: CleanUpGoal, slack: number, turns: Semaphore): Promise<void> {
    const leave = await turns.acquire(this.#stopping.signal);
    try {
      const tolerated = slack * Math.max(TOLERATED_BYTES, goal.limit * TOLERATED_SHARE);
      if (usageOf(this.#options.ledger, goal.concerns) <= goal.limit + tolerated) return;
      const evicted = await cleanUp(goal, this.#options, this.#stopping.signal);
      this.#evicted = add(this.#evicted, evicted);
      if (evicted.pages > 0)
        this.#options.log.info({ ...evicted, policy: goal.policy }, 'removed tiles to keep a quota');
    } finally {
      leave();
    }
  }

  async #pause(configuration: QuotaConfiguration): Promise<void> {
    const watch = Math.max(WATCH_INTERVAL, this.#options.ledger.lastRefresh / WATCH_SHARE);
    await this.#sleep(configuration.enabled ? Math.min(watch, cleanUpPeriod(configuration)) : watch);
  }

  async #sleep(ms: number): Promise<void> {
    const either = AbortSignal.any([this.#stopping.signal, this.#wake.signal]);
    await this.#options.clock.sleep(ms, either).catch(() => undefined);
  }
}
