/**
 * Text from outside costs linear time. The house has no stopwatches in tests; this one counts processor time, which other
 * programs do not change, and takes the best of several runs.
 */
import { existsSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { isLong } from '../fixtures/length.ts';
import { createScanners, type Scanner } from './scanners.ts';

/**
 * Milliseconds of processor time that other requests may have to wait. Beside other programs, which share caches and processors,
 * the same turn takes up to twice as much: 50 are asked for in the long form, which runs alone.
 */
const MAX_TURN = isLong ? 50 : 100;
/** Twice the text may take so many times as long; four times where the cost is quadratic. Busy neighbours count here too. */
const MAX_GROWTH = isLong ? 2.5 : 3;
/** Milliseconds of processor time: less is not compared, as noise would decide. */
const MIN_COMPARED = 20;
const MAX_RUNS = 10;

setFlagsFromString('--expose-gc');
/** The files of a run share a process: garbage of the others is not to be collected during a scan. */
const collectGarbage = runInNewContext('gc') as () => void;

interface Cost {
  /** Milliseconds of processor time. */
  readonly total: number;
  readonly longestTurn: number;
}

/** Of this thread where the system counts it: that of the process contains the threads that collect garbage. */
const OWN_TIME = `/proc/self/task/${process.pid}/schedstat`;
const hasOwnTime = existsSync(OWN_TIME);

function processorTime(): number {
  if (hasOwnTime) return Number.parseInt(readFileSync(OWN_TIME, 'latin1'), 10) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function costOf(scan: () => unknown): Promise<Cost> {
  await nextTurn();
  const begun = processorTime();
  let [last, longestTurn, isOver] = [begun, 0, false];
  const endTurn = () => {
    const now = processorTime();
    longestTurn = Math.max(longestTurn, now - last);
    last = now;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  try {
    await scan();
  } catch {
    // Refused.
  }
  isOver = true;
  endTurn();
  return { total: last - begun, longestTurn };
}

const least = (one: Cost, other: Cost): Cost => ({
  total: Math.min(one.total, other.total),
  longestTurn: Math.min(one.longestTurn, other.longestTurn),
});

/** Until the costs are good, or have been measured often enough. */
async function bestCosts(scanner: Scanner, write: (length: number) => string) {
  const prepare = (length: number) => {
    const text = write(length);
    const bytes = Buffer.from(text);
    return () => costOf(() => scanner.scan(text, bytes));
  };
  const [costOfHalf, costOfFull] = [prepare(scanner.length / 2), prepare(scanner.length)];
  let whole = await costOfFull();
  let part = whole.total < MIN_COMPARED ? whole : await costOfHalf();
  const growth = () => whole.total / Math.max(part.total, MIN_COMPARED);
  for (let run = 1; run < MAX_RUNS && (growth() > MAX_GROWTH || whole.longestTurn > MAX_TURN); run++) {
    collectGarbage();
    whole = least(whole, await costOfFull());
    part = least(part, await costOfHalf());
  }
  return { ...whole, growth: growth() };
}

it.each(createScanners())('$name costs time in proportion to its length', async (scanner) => {
  const slow: Record<string, object> = {};
  for (const [title, write] of Object.entries(scanner.texts)) {
    const cost = await bestCosts(scanner, write);
    if (cost.longestTurn > MAX_TURN || cost.growth > MAX_GROWTH) slow[title] = cost;
  }
  expect(slow).toEqual({});
});
