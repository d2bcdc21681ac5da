import type { Clock } from '../../src/lib/clock.ts';
import type { SourceRequest, SourceResult, TileSource } from '../../src/sources/tile-source.ts';
import type { UpstreamLimiter } from '../../src/sources/upstream/open-upstream-limiter.ts';
import { endOf } from '../../src/sources/upstream/upstream-client.ts';
import {
  failureOfStatus,
  refuseResponse,
  timedOut,
  unavailable,
} from '../../src/sources/upstream/upstream-failure.ts';
import type { Scenario } from './scenario.ts';

export interface ScriptedUpstream {
  readonly source: TileSource;
  /** When requests came, in seconds since the beginning. */
  readonly arrivals: readonly number[];
  /** Under way now, and the most that ever were. */
  readonly active: number;
  readonly peak: number;
}

export interface UpstreamTools {
  readonly limiter: UpstreamLimiter;
  readonly host: string;
  readonly clock: Clock;
  /** Makes the picture of a good answer. */
  readonly draw: (request: SourceRequest) => SourceResult;
}

/** A source that uses the limiter as every source does, and an upstream that follows a scenario. */
export function createScriptedUpstream(scenario: Scenario, tools: UpstreamTools): ScriptedUpstream {
  const { limiter, host, clock, draw } = tools;
  const arrivals: number[] = [];
  const counts = { active: 0, peak: 0 };
  const seconds = () => clock.monotonic() / 1000;

  async function serve(request: SourceRequest): Promise<SourceResult> {
    const step = scenario.upstream.findLast(({ at }) => at <= seconds());
    if (!step || step.answer === 'hang') return hang(request.signal);
    await clock.sleep(step.delay, request.signal);
    const { answer, retryAfter = null } = step;
    if (answer === 'good') return draw(request);
    if (answer === 'reset') throw unavailable(new Error('reset'));
    if (answer === 'cut') throw refuseResponse('truncated', 'cut');
    throw failureOfStatus(answer, 'upstream', '', retryAfter);
  }

  async function hang(signal: AbortSignal): Promise<never> {
    await clock.sleep(scenario.timeoutSeconds * 1000, signal);
    throw timedOut('it hangs');
  }

  async function ask(request: SourceRequest): Promise<SourceResult> {
    arrivals.push(seconds());
    request.sent?.();
    counts.peak = Math.max(counts.peak, ++counts.active);
    try {
      return await serve(request);
    } finally {
      counts.active--;
    }
  }

  async function visit(request: SourceRequest): Promise<SourceResult> {
    const permit = await limiter.acquire(host, request.priority, request.signal);
    const begunAt = clock.monotonic();
    try {
      const answer = await ask(request);
      permit.end(endOf(null, clock.monotonic() - begunAt));
      return answer;
    } catch (error) {
      permit.end(endOf(error, clock.monotonic() - begunAt));
      throw error;
    }
  }

  return {
    arrivals,
    get active() {
      return counts.active;
    },
    get peak() {
      return counts.peak;
    },
    source: {
      maxMetatile: null,
      fetch: visit,
      async close() {},
    },
  };
}
