import { invalid } from '../domain/errors.ts';
import type { ReadDocument } from '../geowebcache/read-layer.ts';
import { integerField, onlyChild, textField, type WireElement } from '../geowebcache/wire-element.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';

export interface ArchiveFile {
  /** Absolute. */
  readonly path: string;
  /** The format of its tiles, e.g. `image/png`. */
  readonly format: string;
}

/** A file below the folder of the configuration; null: it is not there, or its tiles have no format that is served. */
export type FindArchive = (path: string) => ArchiveFile | null;

/** Fields that `readMbtilesLayer` reads. */
export const MBTILES_FIELDS = ['tilesPath', 'name', 'tileSize', 'metaInformation'];

/** Side of a tile in pixels; vector tiles have none. */
const TILE_SIZE = 256;

/** GeoWebCache's `mbtilesLayer`: ready-made tiles in web mercator. Throws `request-invalid`. */
export function readMbtilesLayer(element: WireElement, find: FindArchive): ReadDocument {
  const tilesPath = textField(element, 'tilesPath') ?? '';
  const archive = tilesPath.endsWith('.mbtiles') ? find(tilesPath) : null;
  if (!archive)
    throw invalid(`${tilesPath || 'tilesPath'} is not an MBTiles file with pictures or vector tiles`);
  const size = integerField(element, 'tileSize') ?? TILE_SIZE;
  if (size !== TILE_SIZE && archive.format.startsWith('image/'))
    throw invalid(`its tiles have ${size} pixels; declare a grid set of this size for them`);
  const meta = onlyChild(element, 'metaInformation');
  const document = omitUndefined({
    name: textField(element, 'name') ?? tilesPath.replace(/^.*[\\/]|\.mbtiles$/g, ''),
    title: meta ? textField(meta, 'title') : undefined,
    description: meta ? textField(meta, 'description') : undefined,
    source: { type: 'archive', path: archive.path },
    formats: [archive.format],
    gridSets: ['EPSG:900913'],
  });
  return { document, warnings: [] };
}
