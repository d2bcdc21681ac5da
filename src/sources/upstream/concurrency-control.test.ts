import { describe, expect, it } from 'vitest';
import { ConcurrencyControl } from './concurrency-control.ts';

const STEP_MS = 1;
const MAX = 32;
const BEST_MS = 50;

interface Upstream {
  /** Milliseconds of work that it does in a millisecond while so many requests are under way. */
  readonly power: (active: number) => number;
}

/** Six concurrent requests at full speed; beyond that it does less and less, and with 32 an answer takes ten times as long. */
const THRASHING: Upstream = {
  power: (active) => (active <= 6 ? active : 6 * (1 - (0.47 * (active - 6)) / (MAX - 6))),
};
/** Two processors that lose nothing however much is asked of them. */
const TWO_CORES: Upstream = { power: (active) => Math.min(active, 2) };
const BOUNDLESS: Upstream = { power: (active) => active };

interface Running {
  left: number;
  readonly begunAt: number;
  readonly crowded: boolean;
}

interface Figures {
  readonly throughput: number;
  readonly latency: number;
  readonly limit: number;
}

interface Course {
  readonly seconds: number;
  /** What comes before is not measured. */
  readonly from: number;
  readonly upstreamAt?: (ms: number) => Upstream;
  readonly onStep?: (now: number, control: ConcurrencyControl) => void;
}

/** Always more to ask than may be asked; requests share the upstream's power evenly, and differ by a third. */
function simulate(upstream: Upstream, adaptive: boolean, max: number, course: Course): Figures {
  let now = 0;
  const random = createRandom(7);
  const control = new ConcurrencyControl({ max, adaptive, clock: { monotonic: () => now } });
  let running: Running[] = [];
  const latencies: number[] = [];
  const limits: number[] = [];
  for (; now < course.seconds * 1000; now += STEP_MS) {
    while (running.length < control.limit) {
      const left = BEST_MS * (1 + (random() - 0.5) / 1.5);
      running.push({ left, begunAt: now, crowded: running.length + 1 >= control.limit });
    }
    const power = (course.upstreamAt?.(now) ?? upstream).power(running.length) / running.length;
    for (const request of running) request.left -= power * STEP_MS;
    const done = running.filter(({ left }) => left <= 0);
    running = running.filter(({ left }) => left > 0);
    for (const { begunAt, crowded } of done) {
      const ms = now + STEP_MS - begunAt;
      if (now >= course.from * 1000) latencies.push(ms);
      control.observe({ ms, begunAt, crowded });
    }
    if (now >= course.from * 1000) limits.push(control.limit);
    course.onStep?.(now, control);
  }
  return {
    throughput: latencies.length / (course.seconds - course.from),
    latency: median(latencies),
    limit: median(limits),
  };
}

function bestFixed(upstream: Upstream): Figures & { readonly setting: number } {
  const settings = Array.from({ length: MAX }, (_, index) => index + 1);
  const all = settings.map((setting) => ({
    setting,
    ...simulate(upstream, false, setting, { seconds: 10, from: 2 }),
  }));
  return all.reduce((best, each) => (each.throughput > best.throughput * 1.001 ? each : best));
}

describe('the control of concurrency', () => {
  it.each([
    ['that slows down by ten under load', THRASHING],
    ['with two processors', TWO_CORES],
    ['that bears everything', BOUNDLESS],
  ])('the concurrency settles where an upstream %s is quick and does nearly all it can', (name, upstream) => {
    const best = bestFixed(upstream);
    const settled = simulate(upstream, true, MAX, { seconds: 180, from: 30 });
    const unguarded = simulate(upstream, false, MAX, { seconds: 10, from: 2 });
    process.stdout.write(
      `an upstream ${name}: settles at ${settled.limit} concurrent requests, median ${settled.latency} ms ` +
        `(best ${BEST_MS}, unguarded ${unguarded.latency}), ${settled.throughput.toFixed(1)}/s ` +
        `= ${((100 * settled.throughput) / best.throughput).toFixed(0)} % of the best fixed setting, ${best.setting}\n`,
    );
    expect(settled.latency).toBeLessThanOrEqual(2 * BEST_MS);
    expect(settled.throughput).toBeGreaterThanOrEqual(0.8 * best.throughput);
  });

  it('the concurrency follows an upstream that becomes slower for good, and faster again', () => {
    const upstreamAt = (ms: number): Upstream => {
      const share = ms > 60_000 && ms < 180_000 ? 0.25 : 1;
      return { power: (active) => share * THRASHING.power(active) };
    };
    const slow = simulate(THRASHING, true, MAX, { seconds: 180, from: 120, upstreamAt });
    expect(slow.throughput).toBeGreaterThanOrEqual(0.8 * 0.25 * bestFixed(THRASHING).throughput);
    const again = simulate(THRASHING, true, MAX, { seconds: 300, from: 240, upstreamAt });
    expect(again.latency).toBeLessThanOrEqual(2 * BEST_MS);
    expect(again.throughput).toBeGreaterThanOrEqual(0.8 * bestFixed(THRASHING).throughput);
  });

  it('the concurrency halves when an upstream reports overload, once for each time', () => {
    let now = 0;
    const control = new ConcurrencyControl({ max: 8, adaptive: true, clock: { monotonic: () => now } });
    const begunAt = now;
    now = 10;
    control.overloaded(begunAt);
    expect(control.limit).toBe(2);
    control.overloaded(begunAt);
    expect(control.limit).toBe(2);
    control.overloaded(now);
    control.overloaded(now);
    expect(control.limit).toBe(1);
  });

  it('the concurrency goes no further than the administrator allows, and always that far if not adaptive', () => {
    const limits = new Set<number>();
    const onStep = (_: number, control: ConcurrencyControl) => void limits.add(control.limit);
    simulate(BOUNDLESS, true, 5, { seconds: 20, from: 0, onStep });
    expect(Math.max(...limits)).toBe(5);
    expect(new ConcurrencyControl({ max: 5, adaptive: false, clock: performanceClock }).limit).toBe(5);
  });

  it('the concurrency does not rise above the need', () => {
    const control = new ConcurrencyControl({ max: 32, adaptive: true, clock: performanceClock });
    for (let i = 0; i < 100; i++)
      control.observe({ ms: 50, begunAt: Number.POSITIVE_INFINITY, crowded: false });
    expect(control.limit).toBe(4);
  });
});

const performanceClock = { monotonic: () => 0 };

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The same numbers at each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
