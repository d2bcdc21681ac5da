import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Sqlite } from './bundle-file.ts';
import type { BundleSummary } from './bundle-index.ts';
import type { PageRow } from './bundle-reader.ts';

/** Bytes in which file systems commonly hand out room. */
const ROOM_GRAIN = 4096;
/** Bytes a file system gives for each block that `stat` counts. */
const BLOCK_BYTES = 512;

const SUMMARY = `
  SELECT identity, (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS size
  FROM bundle`;
const PAGES = 'SELECT page, tiles, bytes, written_at FROM page ORDER BY page';

/** Of one moment, when the caller holds a transaction. */
export function summaryOfBundle(db: Sqlite, path: string): BundleSummary | null {
  const changedAt = changedAtOf(path);
  const summary = db.prepare<[], { identity: string; size: number }>(SUMMARY).get();
  if (!summary) return null;
  const folder = statSync(dirname(path), { throwIfNoEntry: false });
  const file = Math.ceil(summary.size / ROOM_GRAIN) * ROOM_GRAIN;
  const diskBytes = file + (folder?.blocks ?? 0) * BLOCK_BYTES;
  const pages = db.prepare<[], PageRow>(PAGES).all();
  const tiles = pages.reduce((sum, page) => sum + page.tiles, 0);
  return { identity: summary.identity, diskBytes, changedAt, tiles, pageCount: pages.length, pages };
}

/** Milliseconds since 1970. */
function changedAtOf(path: string): number {
  const times = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.floor(Math.max(...times));
}
