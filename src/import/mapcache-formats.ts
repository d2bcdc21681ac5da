import { formatOf } from '../domain/format.ts';
import type { TrackedTable } from './tracked-table.ts';

/** Formats that come with MapCache; letter case does not matter. */
const BUILT_IN: Readonly<Record<string, string>> = {
  png: 'image/png',
  png8: 'image/png8',
  jpeg: 'image/jpeg',
  mixed: 'image/vnd.jpeg-png',
};
/** JPEG for opaque tiles, by the format of the others. */
const MIXED: Readonly<Record<string, string>> = {
  'image/png': 'image/vnd.jpeg-png',
  'image/png8': 'image/vnd.jpeg-png8',
};

/** Our format of that name; null: there is none. `declared`: those of the document, by name. */
export function mapCacheFormat(
  name: string,
  declared: (name: string) => TrackedTable | undefined,
  depth = 0,
): string | null {
  const format = declared(name);
  if (!format) return BUILT_IN[name.toLowerCase()] ?? null;
  const type = format.text('@type')?.toUpperCase();
  const inner = (key: string) => {
    const other = format.text(key);
    return other === undefined || depth > 5 ? null : mapCacheFormat(other, declared, depth + 1);
  };
  if (type === 'PNG') return format.text('colors') === undefined ? 'image/png' : 'image/png8';
  if (type === 'JPEG') return 'image/jpeg';
  if (type === 'MIXED')
    return inner('opaque') === 'image/jpeg' ? (MIXED[inner('transparent') ?? ''] ?? null) : null;
  if (type !== 'RAW') return null;
  format.text('extension');
  const raw = formatOf(format.text('mime_type') ?? '');
  return raw?.kind === 'raster' ? raw.mediaType : null;
}
