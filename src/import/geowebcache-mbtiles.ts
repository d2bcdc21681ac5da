import { invalid } from '../domain/errors.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import type { ImportedDocument } from './import-report.ts';
import type { TrackedTable } from './tracked-table.ts';

export interface ArchiveFile {
  /** Absolute. */
  readonly path: string;
  /** The format of its tiles, e.g. `image/png`. */
  readonly format: string;
}

/** A file below the folder of the configuration; null: it is not there, or its tiles have no format that is served. */
export type FindArchive = (path: string) => ArchiveFile | null;

/** Side of a tile in pixels; it does not matter for vector tiles. */
const TILE_SIZE = '256';

/** GeoWebCache's `mbtilesLayer`: ready-made tiles in web mercator. Throws `request-invalid`. */
export function readMbtilesLayer(layer: TrackedTable, find: FindArchive): ImportedDocument {
  const tilesPath = layer.text('tilesPath') ?? '';
  const archive = tilesPath.endsWith('.mbtiles') ? find(tilesPath) : null;
  if (!archive)
    throw invalid(`${tilesPath || 'tilesPath'} is not an MBTiles file with pictures or vector tiles`);
  const size = layer.text('tileSize') ?? TILE_SIZE;
  if (size !== TILE_SIZE && archive.format.startsWith('image/'))
    throw invalid(`its tiles have ${size} pixels; declare a grid set of this size for them`);
  const meta = layer.table('metaInformation');
  return omitUndefined({
    name: layer.text('name') ?? tilesPath.replace(/^.*[\\/]|\.mbtiles$/g, ''),
    title: meta.text('title'),
    description: meta.text('description'),
    source: { type: 'archive', path: archive.path },
    formats: [archive.format],
    gridSets: ['EPSG:900913'],
  }) as ImportedDocument;
}
