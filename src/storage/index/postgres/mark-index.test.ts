import { type CompiledQuery, sql } from 'kysely';
import { expect, it } from 'vitest';
import { describeOnMemoryObjects, metatile } from '../../../../test/fixtures/pack-stores.ts';
import type { Statements } from '../../../db/database.ts';
import { FOLDED, MAX_CLOSED } from '../marks.ts';
import { levelStart } from './mark-index.ts';
import { PackIndex } from './pack-index.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const OPEN_MARKS = 10_000;
/** Blocks of the index of places from its root to a leaf, on both sides of a boundary. */
const FEW = 8;

describeOnMemoryObjects('marks in PostgreSQL', (_, stores) => {
  it('a read touches a few blocks more with ten thousand open marks at other places than with none', async () => {
    const { database } = stores();
    let blocks = 0;
    const query = explained(database.query, (touched) => {
      blocks += touched;
    });
    await stores().using(
      async (store, name) => {
        await store.put(set, 9, metatile(0, 0, 'map'), 0);
        const read = async () => {
          blocks = 0;
          const found = await store.get(set, { z: 9, x: 1, y: 1 });
          expect(found?.bytes.toString()).toBe('map 5');
          return blocks;
        };
        const [without] = [await read(), await read()];
        await addMarks(database.change, name, OPEN_MARKS, true);
        expect(await store.marks('roads')).toBe(OPEN_MARKS);
        expect(await read()).toBeLessThanOrEqual(without + FEW);
      },
      { database: { ...database, query }, sweeps: () => false },
    );
  });

  it('a mark over several places hides the tiles of each of them and no others', () =>
    stores().using(async (store) => {
      await store.put(set, 9, metatile(0, 0, 'map'), 0);
      const at = (x: number) => ({
        gridSet: set.gridSet,
        z: 9,
        rect: { minX: x, minY: 1, maxX: x, maxY: 1 },
      });
      const effect = { type: 'hide', at: 1 } as const;
      await store.mark({ type: 'raise', raises: [{ layer: 'roads', places: [at(0), at(2)], effect }] });
      const found = await Promise.all([0, 1, 2].map((x) => store.get(set, { z: 9, x, y: 1 })));
      expect(found.map((one) => one !== null)).toEqual([false, true, false]);
    }));

  it('closed marks beyond the limit become one for the layer, with the greatest number of those that go', () =>
    stores().using(async (store, name) => {
      await addMarks(stores().database.change, name, MAX_CLOSED, false);
      await new PackIndex(stores().database, name).ticketsAfter(MAX_CLOSED);
      const elsewhere = { gridSet: set.gridSet, z: 9, rect: { minX: 0, minY: 0, maxX: 0, maxY: 0 } };
      expect(await store.marks('roads', elsewhere)).toBe(0);
      await store.mark({ type: 'raise', raises: [{ layer: 'roads', places: [], effect: null }] });
      expect(await store.marks('roads', elsewhere)).toBe(FOLDED);
    }));
});

/** Each at a tile of its own, numbered from 1. */
async function addMarks(change: Statements, store: string, count: number, open: boolean): Promise<void> {
  await sql`with added as (
      insert into marks (store, layer, number, hides, open, effect, places, key, changed)
      select ${store}, '"roads"', n, n, ${open}, '{"type":"hide","at":1}', '[]', n::text, 0
      from generate_series(1, ${sql.lit(count)}) n returning id, number)
    insert into mark_places (mark, area, min_x, max_x, min_y, max_y, z, grid_set)
    select id, box(point(${levelStart('roads', set.gridSet, 9)}::float8 + 100 + number, number), point(
      ${levelStart('roads', set.gridSet, 9)}::float8 + 100 + number, number)), 100 + number, 100 + number, number, number, 9,
      ${JSON.stringify(set.gridSet)} from added`.execute(change);
}

/** Reports the blocks that each statement touches. */
function explained(queries: Statements, report: (blocks: number) => void): Statements {
  const executor = queries.getExecutor();
  const counting = new Proxy(executor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'executeQuery') return value.bind(target);
      return async (compiled: CompiledQuery) => {
        const text = `explain (analyze, buffers, format json) ${compiled.sql}`;
        const { rows } = await target.executeQuery({ ...compiled, sql: text });
        const [row] = rows as readonly { 'QUERY PLAN': readonly { Plan: Record<string, number> }[] }[];
        const { Plan = {} } = row?.['QUERY PLAN'][0] ?? {};
        report((Plan['Shared Hit Blocks'] ?? 0) + (Plan['Shared Read Blocks'] ?? 0));
        return target.executeQuery(compiled);
      };
    },
  });
  return { getExecutor: () => counting } as unknown as Statements;
}
