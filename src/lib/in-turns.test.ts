import { expect, it } from 'vitest';
import { inTurns } from './in-turns.ts';

it('what is made one by one comes in its order, and others have their turns meanwhile', async () => {
  let made = 0;
  const seen: number[] = [];
  const look = () => {
    seen.push(made);
    if (made < 1000) setImmediate(look);
  };
  setImmediate(look);
  const all = await inTurns(
    (function* () {
      while (made < 1000) yield ++made;
    })(),
  );
  expect(all).toEqual(Array.from({ length: 1000 }, (_, n) => n + 1));
  expect(seen.length).toBeGreaterThan(5);
});
