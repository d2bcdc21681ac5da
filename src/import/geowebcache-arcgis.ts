import { basename, dirname, extname, resolve } from 'node:path';
import type { Bounds } from '../domain/bounds.ts';
import { invalid } from '../domain/errors.ts';
import { clippedSubset } from '../domain/fitting-subset.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { sameSrs } from '../domain/srs.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import type { XmlElement } from '../lib/xml/xml-element.ts';
import type { ImportedDocument } from './import-report.ts';
import { EMPTY_SOURCE } from './mapproxy-parts.ts';
import { type MatchedGrid, matchGrid } from './matching-grid.ts';
import { listOf, numberOf, type Table, type TrackedTable } from './tracked-table.ts';
import { node } from './xml-table.ts';

/** The root of `conf.xml`. */
export const TILING_SCHEME = 'CacheInfo';

export interface ArcgisFiles {
  /** The base of relative paths. */
  readonly folder: string;
  readonly gridSets: readonly GridSet[];
  readonly isThere: (path: string) => boolean;
  /** A `conf.xml` or `conf.cdi`; null: there is no such file. */
  readonly readTable: (path: string) => Table | null;
}

/** A tile package, which has all files of a cache. */
export const PACKAGE = /\.tpkx?$/i;

const METRES_PER_INCH = 0.0254;
const WEB_MERCATOR = 3857;
/** With `hexZoom`, folders of levels above this one have hexadecimal names, which are not read. */
const LAST_DECIMAL = 9;
const FORMATS: Readonly<Record<string, string>> = {
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  mixed: 'image/vnd.jpeg-png',
  png: 'image/png',
  png8: 'image/png',
  png24: 'image/png',
  png32: 'image/png',
};

/**
 * GeoWebCache's `arcgisLayer`: a cache that ArcGIS wrote, with its `conf.xml` and `conf.cdi`. `gridSet`: to
 * declare; null: an existing one is used. Throws `request-invalid`.
 */
export function readArcgisLayer(layer: TrackedTable, files: ArcgisFiles) {
  const name = layer.text('name');
  const scheme = resolve(files.folder, layer.text('tilingScheme') ?? '');
  const conf = files.readTable(scheme);
  const isPackage = PACKAGE.test(scheme);
  if (name === undefined || !conf || !('TileCacheInfo' in conf))
    throw invalid(`it needs a name, and in tilingScheme the conf.xml of an ArcGIS cache; ${scheme} is none`);
  const bounds = files.readTable(resolve(dirname(scheme), 'conf.cdi'));
  if (!bounds) throw invalid(`there is no conf.cdi, with the bounds of the layer, beside ${scheme}`);
  const tiles = layer.text('tileCachePath') ?? resolve(dirname(scheme), '_alllayers');
  const folder = isPackage ? scheme : resolve(files.folder, tiles);
  if (!files.isThere(folder)) throw invalid(`there is no folder ${folder} with its tiles`);
  const levels = readLevels(conf);
  const first = levels[0]?.id ?? 0;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = numbersIn(bounds, 'XMin', 'YMin', 'XMax', 'YMax');
  const extent = { minX, minY, maxX, maxY };
  const grid = gridOf(name, conf, levels, extent, files.gridSets);
  const subset = grid.gridSet && clippedSubset(grid.gridSet, extent);
  if (!subset) throw invalid('the bounds in conf.cdi are not in its tiling scheme');
  const isCompact = /Compact/.test(String(inner(conf, 'CacheStorageInfo').StorageFormat));
  if (isPackage && !isCompact)
    throw invalid('its tiles are files of their own, not bundles: unpack it and import its conf.xml');
  const isHex = layer.flag('hexZoom') === true && !isCompact;
  const last = Math.min(grid.zoomStop ?? levels.length - 1, isHex ? LAST_DECIMAL - first : levels.length);
  const meta = layer.table('metaInformation');
  const place = isCompact ? { layout: 'arcgis-compact' } : { layout: 'mapproxy', paths: 'arcgis' };
  const document = omitUndefined({
    name,
    enabled: layer.flag('enabled'),
    title: meta.text('title'),
    description: meta.text('description'),
    source: EMPTY_SOURCE,
    onMiss: 'not-found',
    formats: [formatIn(conf)],
    gridSets: [{ ...subset, ...(last < grid.gridSet.levels.length - 1 && { zoomStop: last }) }],
    adopt: {
      ...place,
      [isPackage ? 'file' : 'folder']: folder,
      origin: 'nw',
      ...(first > 0 && { zoomOffset: -first }),
    },
  }) as ImportedDocument;
  const what = 'its tiles are adopted, and others are 404: for these, write the ArcGIS server into source';
  layer.change('tilingScheme', `${folder}: ${what}`);
  if (isHex && last < levels.length - 1)
    layer.change('hexZoom', 'levels are read by decimal numbers: those above 9 are left out');
  return { document, gridSet: grid.document };
}

/** A `geowebcache.xml` with one layer: a package, or the cache of a `conf.xml`, named after its folder (above `Layers`). */
export function arcgisDocument(scheme: string): XmlElement {
  const folder = dirname(scheme);
  const service = /^layers$/i.test(basename(folder)) ? dirname(folder) : folder;
  const name = PACKAGE.test(scheme) ? basename(scheme, extname(scheme)) : basename(service);
  const layer = node('arcgisLayer', [node('name', name), node('tilingScheme', scheme)]);
  return node('gwcConfiguration', [node('layers', [layer])]);
}

interface Level {
  readonly id: number;
  readonly resolution: number;
}

function readLevels(conf: Table): readonly Level[] {
  const list = listOf(inner(inner(conf, 'TileCacheInfo'), 'LODInfos').LODInfo);
  const levels = list.filter(isRecord).map((level) => {
    const [id = 0, resolution = 0] = numbersIn(level, 'LevelID', 'Resolution');
    return { id, resolution };
  });
  const [first] = levels;
  if (!first || levels.some(({ id }, at) => id !== first.id + at))
    throw invalid('the LevelIDs in conf.xml must be whole numbers in sequence');
  return levels;
}

/** Tiles count from TileOrigin, at the top left. */
function gridOf(
  layer: string,
  conf: Table,
  levels: readonly Level[],
  { maxX: east, minY: south }: Bounds,
  known: readonly GridSet[],
): MatchedGrid {
  const info = inner(conf, 'TileCacheInfo');
  const [minX = 0, maxY = 0] = numbersIn(inner(info, 'TileOrigin'), 'X', 'Y');
  const [columns = 0, rows = 0, dpi = 0] = numbersIn(info, 'TileCols', 'TileRows', 'DPI');
  const srs = srsIn(inner(info, 'SpatialReference'));
  const resolutions = levels.map(({ resolution }) => resolution);
  /** Whole tiles of a level around the bounds. */
  const gridAt = (resolution = 0) => {
    const [width, height] = [resolution * columns, resolution * rows];
    const maxX = minX + Math.ceil((east - minX) / width) * width;
    const minY = maxY - Math.ceil((maxY - south) / height) * height;
    const extent = [minX, minY, maxX, maxY];
    const sizes = { tileSize: [columns, rows], pixelSize: METRES_PER_INCH / dpi };
    return { name: `EPSG:${srs}_${layer}`, srs, extent, resolutions, alignTopLeft: true, ...sizes };
  };
  const coarse = gridAt(resolutions[0]);
  const matched = known.map((gridSet) => matchGrid(coarse, gridSet, known));
  return (
    matched.find(({ document }) => document === null) ??
    matchGrid(gridAt(resolutions.at(-1)), undefined, known)
  );
}

/** Old files have the code in the well-known text, if at all. */
function srsIn({ WKT, LatestWKID, WKID }: Table): number {
  const authority = /AUTHORITY\["EPSG",(\d+)\]\]$/.exec(String(WKT))?.[1];
  const code = Number(LatestWKID || WKID || authority);
  if (code > 0) return sameSrs(code, WEB_MERCATOR) ? WEB_MERCATOR : code;
  throw invalid('the SpatialReference in conf.xml has no WKID: add it, e.g. <WKID>4326</WKID>');
}

function formatIn(conf: Table): string {
  const name = String(inner(conf, 'TileImageInfo').CacheTileFormat);
  const format = FORMATS[name.toLowerCase()];
  if (format === undefined) throw invalid(`its CacheTileFormat ${name} is not served here`);
  return format;
}

function inner(table: Table, name: string): Table {
  const found = table[name];
  if (isRecord(found)) return found;
  throw invalid(`conf.xml has no ${name}`);
}

function numbersIn(table: Table, ...names: readonly string[]): readonly number[] {
  return names.map((name) => {
    const number = numberOf(table[name]);
    if (number !== undefined) return number;
    throw invalid(`${name} in the tiling scheme must be a number, not "${table[name] ?? ''}"`);
  });
}
