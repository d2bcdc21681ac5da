/**
 * The points of areas in the database. Those of one shape share a name, its slot, and are cut into entries, each of
 * which is written and read in a short turn of the event loop. The area's record (`KeptArea`) has the slot of its
 * current shape.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AreaShape, bytesOf, digestOfShape, shapeOfBytes } from '../domain/area-shape.ts';
import { MAX_AREA_POINTS } from '../domain/named-area.ts';
import type { CatalogEntries } from './catalog-entries.ts';

const KIND = 'area-points';
const CHUNK_BYTES = 384 * 1024;
/** Two numbers of eight bytes for a point, and one at most for its ring and polygon. */
const MAX_SHAPE_BYTES = MAX_AREA_POINTS * 3 * 8;

/** `slot`: one that no area's record has. */
export async function keepShape(
  entries: Pick<CatalogEntries, 'put'>,
  slot: string,
  shape: AreaShape,
): Promise<void> {
  const { buffer, byteLength } = bytesOf(shape);
  for (let at = 0; at < byteLength; at += CHUNK_BYTES) {
    const document = Buffer.from(buffer, at, Math.min(CHUNK_BYTES, byteLength - at)).toString('base64');
    await entries.put({ kind: KIND, name: `${slot}/${at}`, document, changedBy: 'area-watch' });
    await nextTurn();
  }
}

/** Null: another process has replaced the shape. */
export async function readShape(
  entries: Pick<CatalogEntries, 'get'>,
  slot: string,
  { srs, bytes, shape: digest }: { readonly srs: number; readonly bytes: number; readonly shape: string },
): Promise<AreaShape | null> {
  const all = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    const entry = await entries.get(KIND, `${slot}/${at}`);
    if (typeof entry?.document !== 'string') return null;
    all.write(entry.document, at, 'base64');
    await nextTurn();
  }
  const shape = shapeOfBytes(all);
  return digestOfShape(srs, shape) === digest ? shape : null;
}

/** Removes a shape; can be repeated after a crash. */
export async function dropShape(entries: Pick<CatalogEntries, 'remove'>, slot: string): Promise<void> {
  for (let at = 0; at < MAX_SHAPE_BYTES; at += CHUNK_BYTES) {
    await entries.remove(KIND, `${slot}/${at}`);
    await nextTurn();
  }
}
