/** The most used pages of a tile set, down to a share of all its use: those that a seed by use makes. */
import { invalid } from '../domain/errors.ts';
import { pageOf, type TileSetKey } from '../domain/tile-key.ts';
import type { PagePlace, UsedPage } from './cut-plan.ts';
import type { TaskRequest } from './task.ts';
import type { TaskDraft } from './task-draft.ts';
import type { TaskPlan } from './task-plan.ts';

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

/** The most used pages of the plan, in that order, and their share of all uses. */
export async function selectUsed(
  plan: TaskPlan,
  used: ReturnType<UsedPages>,
  share: number,
): Promise<{ readonly pages: readonly PagePlace[]; readonly covered: number }> {
  const most = new MostUsedPages(MAX_USED_PAGES);
  for await (const page of used) if (isIn(plan, page)) most.add(page, most.usesOf(page));
  const pages: UsedPage[] = [];
  let sum = 0;
  for (const page of most.pages()) {
    if (sum >= share * most.uses) break;
    pages.push(page);
    sum += page.uses;
  }
  return { pages, covered: most.uses === 0 ? 0 : sum / most.uses };
}

export class MostUsedPages {
  readonly #most: number;
  #pages = new Map<string, UsedPage>();
  uses = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** `before`: uses that are counted already and belong to the same page. */
  add(page: UsedPage, before = 0): void {
    this.uses += page.uses;
    if (page.uses > 0) this.#pages.set(pageName(page), { ...page, uses: page.uses + before });
    if (this.#pages.size >= 2 * this.#most)
      this.#pages = new Map(this.pages().map((one) => [pageName(one), one]));
  }

  usesOf(page: PagePlace): number {
    return this.#pages.get(pageName(page))?.uses ?? 0;
  }

  /** The most used first. */
  pages(): readonly UsedPage[] {
    const sorted = [...this.#pages.values()].sort((a, b) => b.uses - a.uses || a.z - b.z);
    return sorted.slice(0, this.#most);
  }
}

function pageName({ z, pageX, pageY }: PagePlace): string {
  return `${z}/${pageX}/${pageY}`;
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
