import { expect, it } from 'vitest';
import { inLength, isLong } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { openChaos } from './node-chaos.ts';

const RUNS = inLength(1, 50);
/** Milliseconds; in the long form a stopped node loses its leases. */
const [SHORT_OUTAGE, STOP] = [inLength(1000, 6000), inLength(2000, 22_000)];
/** Milliseconds; S3 refuses requests of clocks that are a quarter of an hour off. */
const CLOCK_JUMP = 480_000;
const S3_FAULTS = isLong ? (['fail', 'refuse', 'hang', 'slow'] as const) : (['fail', 'slow'] as const);

it.each(Array.from({ length: RUNS }, (_, run) => [run + 1]))(
  'three nodes under faults lose no acknowledged change and show no truncated tile (run %i)',
  needs('s3'),
  async () => {
    const chaos = await openChaos(3);
    const result = await chaos.run(async () => {
      await chaos.clockJumps(0, CLOCK_JUMP);
      await chaos.clockJumps(1, -CLOCK_JUMP);
      await chaos.partitioned(0, SHORT_OUTAGE);
      await chaos.databaseRestarted();
      await chaos.stopped(1, STOP);
      await chaos.clockJumps(1, CLOCK_JUMP);
      await chaos.killed(2);
      await chaos.clockJumps(0, -CLOCK_JUMP);
      for (const mode of S3_FAULTS) await chaos.withFaultyS3(mode, SHORT_OUTAGE);
      // In the short form one: the second was stopped, and the third was killed.
      for (const node of isLong ? [0, 1, 2] : [0]) await chaos.restarted(node);
    });
    expect(result.truncations).toBeGreaterThan(0);
    expect(result.seeds).toBeGreaterThan(0);
    // 99.9 % of the requests to nodes that should answer.
    expect(chaos.failures.slice(0, Math.max(0, chaos.failures.length - result.reads / 1000))).toEqual([]);
  },
);
