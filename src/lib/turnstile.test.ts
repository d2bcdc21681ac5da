import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turnstile } from './semaphore.ts';

it('a turnstile lets one caller pass in each turn of the event loop, in order', async () => {
  const turnstile = new Turnstile();
  const passed: number[] = [];
  for (let i = 0; i < 3000; i++) void turnstile.pass().then(() => passed.push(i));
  expect(turnstile.waiting).toBe(3000);
  let most = 0;
  for (let before = 0; passed.length < 3000; before = passed.length) {
    await nextTurn();
    most = Math.max(most, passed.length - before);
  }
  expect(most).toBe(1);
  expect(passed).toEqual([...passed].sort((a, b) => a - b));
  expect(turnstile.waiting).toBe(0);
});

it('a turnstile turns again after a while without arrivals', async () => {
  const turnstile = new Turnstile();
  await turnstile.pass();
  await nextTurn();
  await turnstile.pass();
  expect(turnstile.waiting).toBe(0);
});
