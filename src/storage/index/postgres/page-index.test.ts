import { expect, it } from 'vitest';
import { collect, tile } from '../../../../test/contracts/tile-store-tools.ts';
import { describeOnMemoryObjects } from '../../../../test/fixtures/pack-stores.ts';
import { PAGE_SIZE } from '../../../domain/tile-key.ts';
import { WHOLE_LEVEL } from '../../../domain/tile-rect.ts';
import { pagesIn } from '../../read-tiles.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const PAGES = 200;
const STATEMENTS = 30;

describeOnMemoryObjects('pages in PostgreSQL', (_, stores) => {
  it('uses that processes record of the same pages, in any order, are all counted', () =>
    stores().using(async (store) => {
      const at = Array.from({ length: PAGES }, (_, page) => page);
      await store.put(
        set,
        12,
        at.map((page) => tile(page * PAGE_SIZE, 0, 'a')),
        0,
      );
      const pages = at.map((pageX) => ({ pageX, pageY: 0, hits: 1, usedAt: 1, rank: 1 }));
      const edits = Array.from({ length: STATEMENTS }, (_, number) => {
        const inOrder = number % 2 === 0 ? pages : pages.toReversed();
        return store.edit(set, 12, WHOLE_LEVEL, { type: 'use', pages: inOrder });
      });
      await Promise.all(edits);
      const hits = (await collect(pagesIn(store, { set }))).map((page) => page.hits);
      expect(hits).toEqual(at.map(() => STATEMENTS));
    }));
});
