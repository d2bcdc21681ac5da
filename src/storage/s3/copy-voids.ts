import { pageOf, type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import type { TileNews } from '../tile-store.ts';

/** Pages that are told apart; when there are more, no copy made before counts. */
const MOST_PAGES = 50_000;

/** What has been changed elsewhere since copies were made. Moments are numbers that rise with each piece of news. */
export class CopyVoids {
  readonly #layers = new Map<string, number>();
  readonly #pages = new Map<string, number>();
  #everything = 0;
  #now = 0;

  get now(): number {
    return this.#now;
  }

  note(news: TileNews): void {
    this.#now++;
    if (news.kind === 'tiles') {
      const { minX, minY } = news.rect;
      this.#pages.set(pageKey(news.set, news.z, minX, minY), this.#now);
    }
    if (news.kind === 'layer' || news.kind === 'place') this.#layers.set(news.layer, this.#now);
    if (news.kind !== 'everything' && this.#pages.size <= MOST_PAGES) return;
    this.#everything = this.#now;
    this.#pages.clear();
    this.#layers.clear();
  }

  /** Whether nothing is known to have changed a tile since that moment. */
  isUntouched(set: TileSetKey, z: number, x: number, y: number, since: number): boolean {
    const page = this.#pages.get(pageKey(set, z, x, y)) ?? 0;
    return Math.max(page, this.#layers.get(set.layer) ?? 0, this.#everything) <= since;
  }
}

/** News of tiles are of whole pages. */
function pageKey(set: TileSetKey, z: number, x: number, y: number): string {
  return `${tileSetId(set)} ${z} ${pageOf(x)} ${pageOf(y)}`;
}
