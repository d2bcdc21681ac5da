import { expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { silentLogger } from './logger.ts';
import { openRepeater, repeat } from './repeat.ts';

const OPTIONS = { clock: systemClock, log: silentLogger, pause: 1_000_000, failure: 'it failed' };

it('a repeater works immediately, and again when it is woken, which a running turn can see', async () => {
  const turns: AbortSignal[] = [];
  const repeater = openRepeater((_, woken) => turns.push(woken), OPTIONS);
  expect(turns.map(({ aborted }) => aborted)).toEqual([false]);
  repeater.wake();
  await expect.poll(() => turns.map(({ aborted }) => aborted)).toEqual([true, false]);
  await repeater.close();
  expect(turns).toHaveLength(2);
});

it('a repeater does not miss a call that comes while it works', async () => {
  let turns = 0;
  const repeater = openRepeater(
    async () => {
      turns++;
      if (turns === 1) repeater.wake();
    },
    { ...OPTIONS, pauseFirst: true },
  );
  repeater.wake();
  await expect.poll(() => turns).toBe(2);
  await repeater.close();
});

it('a repeater goes on after a failed turn, and does not report one that its end has aborted', async () => {
  const warnings: unknown[] = [];
  const ending = new AbortController();
  let turns = 0;
  const work = () => {
    turns++;
    if (turns === 5) ending.abort();
    if (turns !== 3) throw new Error(`turn ${turns}`);
  };
  const log = { ...silentLogger, warn: (facts: object, text: string) => warnings.push([facts, text]) };
  await repeat(work, { ...OPTIONS, log, pause: () => 0 }, ending.signal);
  expect(warnings).toEqual([
    [{ err: new Error('turn 1') }, 'it failed'],
    // Not the second, within a minute; the fourth, because the third has worked.
    [{ err: new Error('turn 4') }, 'it failed'],
  ]);
});

it('a repeater does nothing when it is closed before the first pause is over', async () => {
  let turns = 0;
  const repeater = openRepeater(() => turns++, { ...OPTIONS, pauseFirst: true });
  await repeater.close();
  expect(turns).toBe(0);
});
