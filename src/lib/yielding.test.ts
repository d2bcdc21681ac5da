import { expect, it } from 'vitest';
import { nextTurn } from '../../test/fixtures/clocks.ts';
import { collectYielding, createPace, withConcurrency } from './yielding.ts';

it('results made one by one come in their order, and other work has its turns in the meantime', async () => {
  let made = 0;
  const seen: number[] = [];
  const look = () => {
    seen.push(made);
    if (made < 1000) setImmediate(look);
  };
  setImmediate(look);
  const all = await collectYielding(
    (function* () {
      while (made < 1000) yield ++made;
    })(),
  );
  expect(all).toEqual(Array.from({ length: 1000 }, (_, n) => n + 1));
  expect(seen.length).toBeGreaterThan(5);
});

it('lanes work on all items, a given number at a time', async () => {
  let atOnce = 0;
  let most = 0;
  const done: number[] = [];
  await withConcurrency([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    most = Math.max(most, ++atOnce);
    await nextTurn();
    done.push(item);
    atOnce--;
  });
  expect(done.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(most).toBe(3);
});

it('lanes take up nothing more when one of them has failed', async () => {
  const begun: number[] = [];
  const lanes = withConcurrency([1, 2, 3, 4, 5, 6, 7], 2, async (item) => {
    begun.push(item);
    await nextTurn();
    throw new Error(`${item} cannot be done`);
  });
  await expect(lanes).rejects.toThrow('1 cannot be done');
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(begun).toEqual([1, 2]);
});

it('work by a pace ends the turn of the event loop after so many units', async () => {
  let turns = 0;
  const pace = createPace(10, async () => void turns++);
  for (let n = 0; n < 100; n++) await pace(3);
  expect(turns).toBe(25);
});
