/**
 * Text from outside costs linear time. The house has no stopwatches in tests; this one counts processor time, which other
 * programs do not change, and takes the best of several runs.
 */
import { existsSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createScanners, type Scanner } from './scanners.ts';

/** Milliseconds of processor time that other requests may have to wait. */
const MAX_TURN = 50;
/** Twice the text may take so many times as long; four times where the cost is quadratic. */
const MAX_GROWTH = 2.5;
/** Milliseconds of processor time: less is not compared, as noise would decide. */
const MIN_COMPARED = 20;
const MAX_RUNS = 40;

setFlagsFromString('--expose-gc');
/** The files of a run share a process: garbage of the others is not to be collected during a scan. */
const collectGarbage = runInNewContext('gc') as () => void;

/** Milliseconds of processor time. */
interface Cost {
  readonly total: number;
  /** Of each turn of the event loop. */
  readonly turns: readonly number[];
}

/** Of this thread where the system counts it: that of the process contains the threads that collect garbage. */
const OWN_TIME = `/proc/self/task/${process.pid}/schedstat`;
const hasOwnTime = existsSync(OWN_TIME);

function processorTime(): number {
  if (hasOwnTime) return Number.parseInt(readFileSync(OWN_TIME, 'latin1'), 10) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function costOf(scan: () => unknown, times: number): Promise<Cost> {
  await nextTurn();
  const begun = processorTime();
  const turns: number[] = [];
  let [last, isOver] = [begun, false];
  const endTurn = () => {
    const now = processorTime();
    turns.push(now - last);
    last = now;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  for (let time = 0; time < times; time++) await scanOnce(scan);
  isOver = true;
  endTurn();
  return { total: last - begun, turns };
}

async function scanOnce(scan: () => unknown): Promise<void> {
  try {
    await scan();
  } catch {
    // Refused.
  }
}

/** Turn by turn where both runs have the same turns: a run without any disturbed one is rare on a busy machine. */
function least(one: Cost, other: Cost): Cost {
  const [fewer, more] = longestTurn(one) <= longestTurn(other) ? [one, other] : [other, one];
  const isAlike = one.turns.length === other.turns.length;
  const turns = isAlike ? fewer.turns.map((ms, i) => Math.min(ms, more.turns[i] ?? ms)) : fewer.turns;
  return { total: Math.min(one.total, other.total), turns };
}

function longestTurn({ turns }: Cost): number {
  return Math.max(...turns);
}

/**
 * Until the costs are good, or have been measured often enough. The whole text is compared with its half scanned twice: both
 * take as long when the cost is linear, and so are disturbed by other programs equally often.
 */
async function bestCosts(scanner: Scanner, write: (length: number) => string) {
  const prepare = (length: number, times: number) => {
    const text = write(length);
    const bytes = Buffer.from(text);
    return () => costOf(() => scanner.scan(text, bytes), times);
  };
  const [scanWhole, scanHalves] = [prepare(scanner.length, 1), prepare(scanner.length / 2, 2)];
  let whole = await scanWhole();
  let halves = whole.total < MIN_COMPARED ? whole : await scanHalves();
  const costs = () => ({
    growth: (2 * whole.total) / Math.max(halves.total, 2 * MIN_COMPARED),
    longestTurn: longestTurn(whole),
  });
  for (let run = 1; run < MAX_RUNS && isSlow(costs()); run++) {
    collectGarbage();
    whole = least(whole, await scanWhole());
    halves = least(halves, await scanHalves());
  }
  return costs();
}

function isSlow({ growth, longestTurn }: { readonly growth: number; readonly longestTurn: number }): boolean {
  return growth > MAX_GROWTH || longestTurn > MAX_TURN;
}

it.each(createScanners())('$name costs time in proportion to its length', async (scanner) => {
  const slow: Record<string, object> = {};
  for (const [title, write] of Object.entries(scanner.texts)) {
    const costs = await bestCosts(scanner, write);
    if (isSlow(costs)) slow[title] = costs;
  }
  expect(slow).toEqual({});
});
