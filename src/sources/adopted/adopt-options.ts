import { z } from 'zod';
import { text, texts, whole } from '../../lib/schemas.ts';

const folder = text.describe('The folder; relative to the configuration file');
const bucket = text
  .optional()
  .describe('The name of one of adoptBuckets: the folder begins its keys; / when it is all of them');
const name = text.optional().describe("The layer's name there; the layer's own when absent");
const dimensions = texts
  .default([])
  .describe('Parameters that are dimensions there, by the names and in the order of its configuration');
const gridSet = text.optional().describe("The grid set of its tiles; the layer's first when absent");
const gridSets = z
  .record(text, text)
  .default({})
  .describe('Grid sets that have another name there, by their name here');
const zoomOffset = z
  .int()
  .min(-30)
  .max(30)
  .default(0)
  .describe('Added to its levels it gives the zooms of the grid set');
const rowsFrom = (usual: 'sw' | 'nw') =>
  z
    .enum(['sw', 'nw'])
    .default(usual)
    .describe('Where its rows begin: at the bottom of the grid (sw) or at its top (nw)');

const eitherPlace = (place: { file?: string | undefined; folder?: string | undefined }) =>
  (place.file === undefined) !== (place.folder === undefined);
const EITHER_PLACE = { message: 'needs either file or folder' };

/** The cache of another program, whose tiles are served and copied but never changed. */
export const adoptOptions = z.discriminatedUnion('layout', [
  z.strictObject({
    layout: z.literal('geowebcache'),
    folder,
    bucket,
    name,
    gridSets,
    paths: z
      .enum(['default', 'tms', 'slippy'])
      .default('default')
      .describe(
        'pathGeneratorType of its file blob store; in a bucket default means the keys of its other stores',
      ),
  }),
  z.strictObject({
    layout: z.literal('geowebcache-mbtiles'),
    folder,
    name,
    gridSets,
    template: text
      .default('{layer}/{grid}{format}{params}/{z}_{x}_{y}.sqlite')
      .describe('templatePath of its MBTiles blob store'),
    rows: whole(1, 1e9).default(250).describe('rowRangeCount of the store'),
    columns: whole(1, 1e9).default(250).describe('columnRangeCount of the store'),
  }),
  z.strictObject({
    layout: z.literal('mapcache'),
    folder,
    bucket,
    name,
    gridSets,
    gridSet: text.optional().describe("The only grid set to look for; all of the layer's when absent"),
    paths: z.enum(['tilecache', 'arcgis']).default('tilecache').describe('layout of its disk cache'),
    template: text
      .optional()
      .describe(
        'Instead of paths: {tileset}, {grid}, {dim}, {dim:NAME}, {z}, {x}, {y}, {inv_x}, {inv_y}, {ext} below the folder',
      ),
    dimensions,
    origin: rowsFrom('sw'),
  }),
  z.strictObject({
    layout: z.literal('mapcache-sqlite'),
    folder,
    database: text.describe('Its file below the folder, such as tiles.db or {z}.db for each zoom'),
    name,
    gridSets,
    gridSet,
    dimensions,
    origin: rowsFrom('sw'),
  }),
  z.strictObject({
    layout: z.literal('mapproxy'),
    folder,
    bucket,
    gridSet,
    paths: z
      .enum(['tc', 'mp', 'tms', 'reverse_tms', 'quadkey', 'arcgis'])
      .default('tc')
      .describe('directory_layout of its file cache'),
    zoomOffset,
    dimensions,
    origin: rowsFrom('sw'),
  }),
  z.strictObject({ layout: z.literal('mapproxy-sqlite'), folder, gridSet, origin: rowsFrom('sw') }),
  z
    .strictObject({
      layout: z.literal('arcgis-compact'),
      file: text.optional().describe('A .tpk or .tpkx package; relative to the configuration file'),
      folder: folder.optional().describe('Instead of file: the folder with L00, L01, …'),
      gridSet,
      origin: rowsFrom('nw'),
      zoomOffset,
    })
    .refine(eitherPlace, EITHER_PLACE),
  z
    .strictObject({
      layout: z.literal('geopackage'),
      file: text.optional().describe('The .gpkg file; relative to the configuration file'),
      folder: folder
        .optional()
        .describe('Instead of file: a folder with one file for each zoom, such as 7.gpkg'),
      table: text.optional().describe('Its table of tiles; the only one when absent'),
      gridSet,
      origin: rowsFrom('nw'),
    })
    .refine(eitherPlace, EITHER_PLACE),
  z.strictObject({ layout: z.literal('tms'), folder, bucket, gridSet }),
  z.strictObject({ layout: z.literal('xyz'), folder, bucket, gridSet }),
  z.strictObject({
    layout: z.literal('mbtiles'),
    file: text.describe('The .mbtiles file; relative to the configuration file'),
    gridSet,
    origin: rowsFrom('sw'),
  }),
]);

export type AdoptOptions = z.output<typeof adoptOptions>;
/** Caches with a file for each tile. */
export type FolderAdoptOptions = Extract<
  AdoptOptions,
  { readonly layout: 'geowebcache' | 'mapcache' | 'mapproxy' | 'tms' | 'xyz' }
>;

/** A layer's adopted cache, with absolute paths. */
export type Adoption = AdoptOptions & {
  /** After links are followed, it must be in one of these folders; null: anywhere. */
  readonly within: readonly string[] | null;
};

/** The option with the path of the cache on this machine, and the path; null: it is in a bucket. */
export function placeOfAdoption(
  options: AdoptOptions,
): readonly [key: 'file' | 'folder', path: string] | null {
  const { file, folder, bucket } = { file: undefined, folder: undefined, bucket: undefined, ...options };
  if (bucket !== undefined) return null;
  return file === undefined ? ['folder', folder ?? ''] : ['file', file];
}
