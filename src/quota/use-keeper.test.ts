import { expect, it } from 'vitest';
import { createVirtualClock, nextTurn } from '../../test/fixtures/virtual-clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { Ledger } from './ledger.ts';
import { PageUses } from './page-uses.ts';
import { openUseKeeper, type RecordedUse } from './use-keeper.ts';

const SET = { layer: 'a', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

it('the uses of a page that is requested all the time are recorded once in five seconds, and none is lost', async () => {
  const clock = createVirtualClock(undefined, async () => {
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  });
  const uses = new PageUses();
  const ask = () => uses.count(SET, { z: 3, x: 0, y: 0 }, clock.now());
  const saved: RecordedUse[] = [];
  const records = {
    async *load() {},
    since: async () => [],
    forget: async () => {},
    async save(some: readonly RecordedUse[]) {
      saved.push(...some);
      ask();
      await nextTurn();
    },
  };
  const ledger = new Ledger({ stores: new Map(), clock });
  const keeper = await openUseKeeper({ uses, ledger, records, shared: true, clock, log: silentLogger });
  ask();
  await clock.run(10_500);
  expect(saved.map(({ hits }) => hits)).toEqual([1, 1]);
  await keeper.close();
  expect(saved.map(({ hits }) => hits)).toEqual([1, 1, 1]);
});
