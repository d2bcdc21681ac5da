import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { PAGE_SIZE } from '../../domain/tile-key.ts';
import type { TileNews } from '../tile-store.ts';
import { askIndex } from './index-failure.ts';
import { type PageIndex, tileSetOf } from './page-index.ts';

interface MarkRow {
  readonly layer: string;
  readonly grid_set: string | null;
  readonly z: number;
  readonly min_x: number;
  readonly min_y: number;
  readonly max_x: number;
  readonly max_y: number;
}

interface RenewedPage {
  readonly identity: string;
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** Pages told one by one; when there are more, their layers are told. */
const MOST_PAGES = 2000;

/** See `TileStore.news`. */
export async function readPackNews(
  database: Database,
  store: string,
  pages: PageIndex,
  since: number | null,
): Promise<{ readonly news: readonly TileNews[]; readonly cursor: number }> {
  const cursor = await pages.cursor();
  if (since === null) return { news: [], cursor };
  // A database that was restored from a backup counts its transactions anew.
  if (since > cursor) return { news: [{ kind: 'everything' }], cursor };
  const query = database.query;
  const marks = sql<MarkRow>`select layer, grid_set, z, min_x, min_y, max_x, max_y from tile_marks
    where store = ${store} and changed >= ${since}`;
  const dropped = sql<{ layer: string }>`select distinct layer from tile_sets
    where store = ${store} and dropped_at is not null and dropped >= ${since}`;
  const isRenewed = sql`from pack_pages p join tile_sets s on s.id = p.tile_set
    where p.renewed >= ${since} and s.store = ${store} and s.dropped_at is null`;
  const renewed = sql<RenewedPage>`select s.identity, p.z, p.x, p.y ${isRenewed} limit ${MOST_PAGES + 1}`;
  const layers = sql<{ layer: string }>`select distinct s.layer ${isRenewed}`;
  return askIndex(async () => {
    const raised = (await marks.execute(query)).rows.map(newsOfMark);
    const gone = (await dropped.execute(query)).rows.map(newsOfLayer);
    const found = (await renewed.execute(query)).rows;
    const tiles =
      found.length > MOST_PAGES ? (await layers.execute(query)).rows.map(newsOfLayer) : found.map(newsOfPage);
    return { news: [...raised, ...gone, ...tiles], cursor };
  });
}

function newsOfLayer({ layer }: { readonly layer: string }): TileNews {
  return { kind: 'layer', layer: JSON.parse(layer) };
}

function newsOfMark({ layer, grid_set: gridSet, z, ...at }: MarkRow): TileNews {
  if (gridSet === null) return newsOfLayer({ layer });
  const rect = { minX: at.min_x, minY: at.min_y, maxX: at.max_x, maxY: at.max_y };
  return { kind: 'place', layer: JSON.parse(layer), place: { gridSet: JSON.parse(gridSet), z, rect } };
}

function newsOfPage({ identity, z, x, y }: RenewedPage): TileNews {
  const [minX, minY] = [x * PAGE_SIZE, y * PAGE_SIZE];
  const rect = { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
  return { kind: 'tiles', set: tileSetOf(identity), z, rect };
}
