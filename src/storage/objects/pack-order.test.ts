import fc from 'fast-check';
import { expect, it } from 'vitest';
import { behavesAsTileStore } from '../../../test/contracts/tile-store.ts';
import { checkOrder, fewOrderCommands, orderCommands } from '../../../test/contracts/tile-store-order.ts';
import { raise } from '../../../test/contracts/tile-store-tools.ts';
import { inLength, isLong } from '../../../test/fixtures/length.ts';
import {
  describeOnMemoryObjects,
  describeOnObjectStore,
  describeOnObjectStores,
  metatile,
  type TestStores,
} from '../../../test/fixtures/pack-stores.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

const shown =
  'a store of packs shows the last change at every node, whatever is stored, removed and marked late';

/** Every third answer of a write is lost in every other history. */
const LOST = 3;

function followsTheOrder(stores: () => TestStores, histories: typeof orderCommands, numRuns: number): void {
  it(shown, () =>
    fc.assert(
      fc.asyncProperty(histories, fc.boolean(), async (commands, loses) => {
        let writes = 0;
        const given = { loses: () => loses && ++writes % LOST === 0 };
        await stores().using(async (first, name) => {
          const nodes = [first, await stores().open(name, given)];
          const reopen = async (node: number) => {
            if (node === 0) return;
            await nodes[node]?.close();
            nodes[node] = await stores().open(name, given);
          };
          try {
            await checkOrder({ nodes, reopen, loses }, commands);
          } finally {
            await nodes[1]?.close();
          }
        }, given);
      }),
      { numRuns },
    ),
  );
}

(isLong ? describeOnObjectStores : describeOnMemoryObjects)('the contract of packs', (_, stores) => {
  behavesAsTileStore({ open: () => stores().open(), modelRuns: inLength(1, 60) });
});

describeOnMemoryObjects('the index of packs', (_, stores) => {
  followsTheOrder(stores, orderCommands, inLength(3, 3000));
});

describeOnObjectStores('the order of packs', (_, stores) => {
  followsTheOrder(stores, fewOrderCommands, inLength(1, 800));
});

describeOnObjectStore('a store of packs', (_, stores) => {
  it('a store of packs shows every node immediately what another has stored, replaced and truncated', () =>
    stores().using(async (one, name) => {
      const other = await stores().open(name);
      const text = async () => (await other.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString() ?? null;
      await one.put(set, 9, metatile(0, 0, 'first', 1), 0);
      expect(await text()).toBe('first 5');
      await other.put(set, 9, metatile(0, 0, 'second', 2), 0);
      const raised = await raise(one, 'roads');
      expect(await text()).toBe('second 5');
      await one.drop('roads', null);
      expect(await text()).toBeNull();
      await expect(other.put(set, 9, metatile(0, 0, 'late', 3), 0)).rejects.toMatchObject({
        code: 'generation-stale',
      });
      await other.put(set, 9, metatile(0, 0, 'third', 4), raised);
      expect((await one.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString()).toBe('third 5');
      await other.close();
    }));
});
