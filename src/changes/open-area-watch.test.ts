import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openTestDatabase } from '../../test/fixtures/databases.ts';
import { createAreas } from '../catalog/areas.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { createReadArea, measure } from '../domain/named-area.ts';
import type { AreaPlacer } from '../domain/placed-area.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createAreaPoll } from './open-area-watch.ts';

const DAY = 86_400_000;
const TRIANGLE = measure(4326, [
  [
    [
      [0, 0],
      [1, 0],
      [0, 1],
    ],
  ],
]);

/** Areas of PostGIS with this interval in seconds. `errors`: the first calls of `apply` reject with them. */
async function openPoll(names: readonly string[], every: number, errors: Error[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'area-watch-'));
  const database = await openTestDatabase(folder);
  onTestFinished(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let later = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + later,
    monotonic: () => systemClock.monotonic() + later,
  };
  const url = 'postgres://gis/';
  const declared = new Map(
    names.map((name) => [
      name,
      createReadArea(name, 4326, { url, query: `select geom from ${name.split(' ', 1)}`, every }),
    ]),
  );
  const entries = createCatalogEntries(database, clock);
  const areas = createAreas(declared, entries, {} as AreaPlacer);
  const marked: unknown[] = [];
  let seen = 0;
  const poll = createAreaPoll({
    areas,
    areaThread: { readArea: async () => ({ ...TRIANGLE, boxes: null }) },
    entries,
    catalog: { layerNames: () => ['roads'], declaration: () => ({ areas: declared }) },
    async announce() {
      for (const { kind, name, document, version } of await entries.after(seen, 100)) {
        if (kind === 'area') await areas.take(name, document);
        seen = version;
      }
    },
    async apply({ name, layers }, changes) {
      const error = errors.shift();
      if (error) throw error;
      marked.push({ name, layers, changes });
    },
    lead: () => ({ close: async () => {} }),
    clock,
    log: silentLogger,
  });
  return {
    areas,
    marked,
    async pollAfter(days: number) {
      later += days * DAY + 1000;
      await poll();
    },
    points: async () =>
      (
        await database.query
          .selectFrom('catalog_entries')
          .select('name')
          .where('kind', '=', 'area-points')
          .execute()
      ).length,
    declare: (isDeclared: boolean) => areas.declare(isDeclared ? declared : new Map()),
  };
}

const changes = [{ layers: null, place: null }];

it('points of an area go seven days after its declaration, and its tiles are marked when it comes back', async () => {
  const { areas, marked, pollAfter, points, declare } = await openPoll(['zones'], 1);
  const [area] = areas.byName.values();
  if (!area) throw new Error('there is no area');
  await pollAfter(0);
  expect(await points()).toBe(1);
  declare(false);
  await pollAfter(0);
  await pollAfter(6);
  expect(await points()).toBe(1);
  declare(true);
  expect(areas.shapeOf(area).points).toBe(TRIANGLE.points);
  await pollAfter(0);
  declare(false);
  await pollAfter(0);
  await pollAfter(6);
  expect([await points(), marked]).toEqual([1, []]);
  await pollAfter(2);
  expect(await points()).toBe(0);
  declare(true);
  await pollAfter(0);
  expect(marked).toEqual([{ name: 'area:zones', layers: ['roads'], changes }]);
  await pollAfter(0);
  expect([await points(), areas.kept(area)?.shape]).toEqual([1, TRIANGLE.digest]);
});

it('an area whose tiles could not be marked is due again, and does not keep others from it', async () => {
  const { marked, pollAfter, declare } = await openPoll(['zones', 'parks'], 300, [new Error('no database')]);
  await pollAfter(0);
  declare(false);
  await pollAfter(0);
  await pollAfter(8);
  declare(true);
  await expect(pollAfter(0)).rejects.toThrow('no database');
  expect(marked).toMatchObject([{ name: 'area:parks' }]);
  await pollAfter(0);
  expect(marked).toMatchObject([{ name: 'area:parks' }, { name: 'area:zones' }]);
});

it('two areas with one declaration are both read', async () => {
  const { areas, pollAfter } = await openPoll(['zones', 'zones again'], 300);
  await pollAfter(0);
  expect([...areas.byName.values()].map(({ points }) => points)).toEqual([3, 3]);
});
