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

it('points of an area go seven days after its declaration, and its tiles are marked when it comes back', async () => {
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
  const area = createReadArea('zones', 4326, { url: 'postgres://gis/', query: 'select geom', every: 1 });
  const entries = createCatalogEntries(database, clock);
  const areas = createAreas(new Map([[area.name, area]]), entries, {} as AreaPlacer);
  const marked: unknown[] = [];
  let seen = 0;
  const poll = createAreaPoll({
    areas,
    areaThread: { readArea: async () => ({ ...TRIANGLE, boxes: null }) },
    entries,
    catalog: { layerNames: () => ['roads'], declaration: () => ({ areas: new Map([[area.name, area]]) }) },
    async announce() {
      for (const { kind, name, document, version } of await entries.after(seen, 100)) {
        if (kind === 'area') await areas.take(name, document);
        seen = version;
      }
    },
    apply: async ({ layers }, changes) => void marked.push({ layers, changes }),
    lead: () => ({ close: async () => {} }),
    clock,
    log: silentLogger,
  });
  const pollAfter = async (days: number) => {
    later += days * DAY + 1000;
    await poll();
  };
  const points = async () =>
    (
      await database.query
        .selectFrom('catalog_entries')
        .select('name')
        .where('kind', '=', 'area-points')
        .execute()
    ).length;
  const declare = (isDeclared: boolean) => areas.declare(new Map(isDeclared ? [[area.name, area]] : []));

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
  expect(marked).toEqual([{ layers: ['roads'], changes: [{ layers: null, place: null }] }]);
  await pollAfter(0);
  expect([await points(), areas.kept(area)?.shape]).toEqual([1, TRIANGLE.digest]);
});
