import { coordsOf } from '../domain/bounds.ts';
import { isRecord } from '../lib/value-path.ts';
import { type ImportReport, type SubjectReport, WHOLE } from './import-report.ts';
import { type Coverage, READABLE_COVERAGE, readCoverage, subsetInCoverage } from './mapproxy-coverage.ts';
import type { MapProxyGrid, OfferedGrid } from './mapproxy-grids.ts';
import { tableIn } from './mapproxy-tables.ts';
import { listOf, numberOf, type Table, TrackedTable } from './tracked-table.ts';

/** An imported layer with the tiles of a cache. */
export interface CacheLayer {
  readonly layer: string;
  readonly grids: readonly OfferedGrid[];
}

/** MapProxy's seed.yaml has no times: cron runs its command. */
const WHEN = { cron: '@daily', enabled: false };
const KINDS = { seeds: 'seed', cleanups: 'truncate' } as const;
const NO_AGE = 'a schedule removes tiles of any age: use tilewarden clear --older-than for whole layers';

type ReadText = (file: string) => string | null;

/** `seed.yaml` as schedules by layer, all of them disabled. */
export function schedulesOf(
  tree: Table,
  caches: ReadonlyMap<string, readonly CacheLayer[]>,
  readText: ReadText,
  report: ImportReport,
): ReadonlyMap<string, readonly object[]> {
  const schedules = new Map<string, object[]>();
  for (const section of ['seeds', 'cleanups'] as const) {
    for (const [name, entry] of Object.entries(tableIn(tree, section))) {
      const about = report.about(`${KINDS[section] === 'seed' ? 'seed' : 'cleanup'} ${name}`);
      const task = new TrackedTable(isRecord(entry) ? entry : {}, about);
      for (const { layer, ...schedule } of orders(name, KINDS[section], task, {
        tree,
        caches,
        readText,
        about,
      }))
        schedules.set(layer, [...(schedules.get(layer) ?? []), schedule]);
    }
  }
  return schedules;
}

interface Context {
  readonly tree: Table;
  readonly caches: ReadonlyMap<string, readonly CacheLayer[]>;
  readonly readText: ReadText;
  readonly about: SubjectReport;
}

interface Order {
  readonly layer: string;
  readonly type: string;
  readonly name: string;
}

function orders(
  name: string,
  work: 'seed' | 'truncate',
  task: TrackedTable,
  context: Context,
): readonly Order[] {
  const { about } = context;
  const refuse = (why: string) => {
    about.leftOut(WHOLE, why);
    return [];
  };
  const caches = task.texts('caches');
  const wanted = task.has('grids') ? task.texts('grids') : null;
  const levels = task.take('levels', levelRanges, 'a list, or from and to') ?? [{}];
  if (task.unread(['levels']).length > 0) return refuse('its levels cannot be read');
  const coverages = coveragesOf(task, context);
  if (typeof coverages === 'string') return refuse(coverages);
  if (work === 'truncate' && coverages?.some(({ isBox }) => !isBox))
    return refuse('its coverage is not a box, and a schedule of the file has bounds only');
  if (work === 'truncate' && task.flag('remove_all') !== true) return refuse(NO_AGE);
  const type = work === 'seed' && task.has('refresh_before') ? 'reseed' : work;
  if (type === 'reseed') task.change('refresh_before', 'every run renews all tiles, whatever their age');
  const found = caches.flatMap((cache) => {
    const layers = context.caches.get(cache) ?? [];
    if (layers.length === 0) about.leftOut('caches', `no imported layer shows ${cache}`);
    return layers.flatMap(({ layer, grids }) =>
      grids
        .filter(({ grid }) => wanted === null || wanted.includes(grid.nameThere))
        .flatMap(({ grid }) =>
          boundsFor(grid, coverages).flatMap((bounds) =>
            levels.map((zooms) => ({ layer, type, gridSet: grid.name, ...zooms, ...bounds })),
          ),
        ),
    );
  });
  if (found.length === 0) return refuse('none of its caches, grids and coverages is in an imported layer');
  about.changed(WHOLE, 'is a schedule, without a time: set cron and enabled');
  task.report({ concurrency: 'set threadCount of the schedule instead' });
  return numbered(name, found);
}

/** Names are unique within a layer. */
function numbered(name: string, orders: readonly Omit<Order, 'name'>[]): readonly Order[] {
  const counts = new Map<string, number>();
  return orders.map((order) => {
    const count = (counts.get(order.layer) ?? 0) + 1;
    counts.set(order.layer, count);
    return { ...order, name: count === 1 ? name : `${name} ${count}`, ...WHEN };
  });
}

/** `[0, 1, 3]` is 0 to 1, and 3. */
function levelRanges(value: unknown): readonly object[] | undefined {
  if (isRecord(value)) {
    const [zoomStart, zoomStop] = [numberOf(value.from), numberOf(value.to)];
    return [{ ...(zoomStart !== undefined && { zoomStart }), ...(zoomStop !== undefined && { zoomStop }) }];
  }
  const levels = listOf(value).map(numberOf);
  if (levels.length === 0 || levels.includes(undefined)) return undefined;
  const ranges: { zoomStart: number; zoomStop: number }[] = [];
  for (const level of new Set((levels as number[]).sort((a, b) => a - b))) {
    const last = ranges.at(-1);
    if (last && last.zoomStop === level - 1) last.zoomStop = level;
    else ranges.push({ zoomStart: level, zoomStop: level });
  }
  return ranges;
}

/** Null: everywhere. */
function coveragesOf(
  task: TrackedTable,
  { tree, readText, about }: Context,
): readonly Coverage[] | string | null {
  if (!task.has('coverages')) return null;
  const names = task.texts('coverages');
  const coverages = names.map((name) => readCoverage(tableIn(tree, 'coverages')[name], readText));
  const unread = names.find((_, i) => coverages[i] === undefined);
  if (unread !== undefined) return `its coverage ${unread} is not ${READABLE_COVERAGE}`;
  const known = coverages.filter((one) => one !== undefined);
  if (known.some(({ isBox }) => !isBox)) about.changed('coverages', 'is the box around it');
  return known;
}

/** One for each coverage; an empty object: the whole layer. */
function boundsFor({ gridSet }: MapProxyGrid, coverages: readonly Coverage[] | null): readonly object[] {
  if (coverages === null) return [{}];
  return coverages.flatMap((coverage) => {
    const subset = gridSet && subsetInCoverage(gridSet, coverage);
    if (!subset) return [];
    return [{ bounds: subset.extent ?? coordsOf(gridSet.extent) }];
  });
}
