import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { zxyToTileId } from 'pmtiles';
import type { GridSet } from '../domain/grid-set.ts';
import { PAGE_SIZE } from '../domain/tile-key.ts';

export interface Page {
  readonly z: number;
  readonly pageX: number;
  readonly pageY: number;
}

export interface PageList {
  add(page: Page): void;
  inOrder(): IterableIterator<Page>;
  close(): void;
}

/** Beyond these the library's numbers are not exact. */
const MAX_CURVE_ZOOM = 26;

/**
 * Zoom by zoom along the Hilbert curve of PMTiles: the tiles of an aligned square follow each other on it, so that pages in
 * order are tiles in order. The list is a file: a cache may have millions of pages.
 */
export function openPageList(path: string, gridSet: GridSet): PageList {
  rmSync(path, { force: true });
  const db = new Database(path);
  db.pragma('journal_mode = OFF');
  db.pragma('synchronous = OFF');
  db.exec(`CREATE TABLE pages (z INTEGER, place INTEGER, pageX INTEGER, pageY INTEGER,
    PRIMARY KEY (z, place, pageX, pageY)) WITHOUT ROWID; BEGIN`);
  const add = db.prepare('INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?)');
  return {
    add: ({ z, pageX, pageY }) => void add.run(z, placeOnCurve(gridSet, { z, pageX, pageY }), pageX, pageY),
    inOrder: () => db.prepare<[], Page>('SELECT z, pageX, pageY FROM pages ORDER BY z, place').iterate(),
    close() {
      db.close();
      rmSync(path, { force: true });
    },
  };
}

function placeOnCurve({ levels }: GridSet, { z, pageX, pageY }: Page): number {
  const { columns = 1, rows = 1 } = levels[z] ?? {};
  const zoom = Math.max(0, Math.ceil(Math.log2(Math.max(columns, rows) / PAGE_SIZE)));
  const scale = 2 ** Math.max(0, zoom - MAX_CURVE_ZOOM);
  return zxyToTileId(Math.min(zoom, MAX_CURVE_ZOOM), Math.floor(pageX / scale), Math.floor(pageY / scale));
}
