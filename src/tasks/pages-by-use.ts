/** Seeds by use: the pages of a tile set that were used most, until they have a share of all use. */
import { invalid } from '../domain/errors.ts';
import { pageOf, type TileSetKey } from '../domain/tile-key.ts';
import type { PagePlace, UsedPage } from './cut-plan.ts';
import type { TaskRequest } from './task.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskPlan } from './task-plan.ts';

/** Recorded use of a tile set. */
export type UsedPages = (set: TileSetKey) => Iterable<UsedPage> | AsyncIterable<UsedPage>;

/** Pages of one task: they are in its plan, which is read with each piece. */
export const MAX_USED_PAGES = 3000;
const DEFAULT_SHARE = 0.95;

type UseOrder = Pick<TaskRequest, 'order' | 'share'>;

/** The fields of a request by use; none when the draft has another order. */
export function useOrderOf({ order, share, uses }: TaskDraft, makesTiles: boolean): UseOrder {
  if (order !== 'use') {
    if (share !== undefined || uses) throw invalid(`${uses ? 'uses' : 'share'} requires order use.`);
    return {};
  }
  if (!makesTiles) throw invalid('order must be zoom: only seed and reseed go by use.');
  if (share === undefined) return { order, share: DEFAULT_SHARE };
  if (share > 0 && share <= 1) return { order, share };
  throw invalid(`share must be above 0 and at most 1, not ${share}.`);
}

/** The most used pages of the plan, in that order, and which share of the use of all its pages they have. */
export async function selectUsed(
  plan: TaskPlan,
  used: ReturnType<UsedPages>,
  share: number,
): Promise<{ readonly pages: readonly PagePlace[]; readonly covered: number }> {
  let total = 0;
  let kept = new Map<string, UsedPage>();
  for await (const page of used) {
    if (!isIn(plan, page)) continue;
    total += page.uses;
    const key = `${page.z}/${page.pageX}/${page.pageY}`;
    kept.set(key, { ...page, uses: page.uses + (kept.get(key)?.uses ?? 0) });
    if (kept.size >= 2 * MAX_USED_PAGES) kept = mostUsed(kept);
  }
  const pages: UsedPage[] = [];
  let sum = 0;
  for (const page of mostUsed(kept).values()) {
    if (sum >= share * total) break;
    pages.push(page);
    sum += page.uses;
  }
  return { pages, covered: total === 0 ? 0 : sum / total };
}

function mostUsed(pages: ReadonlyMap<string, UsedPage>): Map<string, UsedPage> {
  const sorted = [...pages].sort(([, a], [, b]) => b.uses - a.uses || a.z - b.z);
  return new Map(sorted.slice(0, MAX_USED_PAGES));
}

function isIn({ levels }: TaskPlan, { z, pageX, pageY }: PagePlace): boolean {
  return levels.some(
    ({ z: zoom, rect }) =>
      zoom === z &&
      pageX >= pageOf(rect.minX) &&
      pageX <= pageOf(rect.maxX) &&
      pageY >= pageOf(rect.minY) &&
      pageY <= pageOf(rect.maxY),
  );
}
