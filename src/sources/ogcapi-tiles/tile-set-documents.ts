/**
 * The documents of OGC API – Tiles (OGC 20-057) that lead to tiles: landing page or collection, list of tile sets, tile
 * set, tile matrix set (OGC 17-083r4). Fields that are not used here are not checked.
 */
import { z } from 'zod';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import type { MatrixSetLink, TileMatrixSet } from '../wmts-capabilities.ts';

/** Larger documents are refused. */
export const MAX_DOCUMENT = 512 * 1024;
const MAX_ITEMS = 1000;

/** Throws an `Error` if the document is invalid. */
export function readOgcDocument<Document>(bytes: Buffer, schema: z.ZodType<Document>): Document {
  if (bytes.length > MAX_DOCUMENT) throw new Error('it is too long');
  return schema.parse(JSON.parse(bytes.toString('utf8')));
}

/** Checks the length before the items: each invalid item would add to the error. */
function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(z.unknown()).max(MAX_ITEMS).pipe(z.array(item));
}

const link = z.object({ href: z.string(), rel: z.string().default(''), type: z.string().optional() });
type Link = z.output<typeof link>;
const links = listOf(link).default([]);
/** A name, or an object with a URI. */
const crs = z
  .union([z.string(), z.object({ uri: z.string() }).transform(({ uri }) => uri)])
  .optional()
  .catch(undefined);
const whole = z.int().min(0);

export const linkedDocument = z.object({ links });

const tileSetItem = z.object({
  dataType: z.string().optional(),
  crs,
  tileMatrixSetURI: z.string().optional(),
  tileMatrixSetId: z.string().optional(),
  links,
});
export type TileSetItem = z.output<typeof tileSetItem>;

export const tileSetList = z.object({ tilesets: listOf(tileSetItem) });

const limit = z.object({
  tileMatrix: z.string(),
  minTileRow: whole,
  maxTileRow: whole,
  minTileCol: whole,
  maxTileCol: whole,
});

export const tileSetDocument = tileSetItem.extend({
  tileMatrixSetLimits: listOf(limit).nullish(),
});
type TileSetDocument = z.output<typeof tileSetDocument>;

export const tileMatrixSetDocument = z.object({
  crs,
  tileMatrices: listOf(
    z.object({
      id: z.string(),
      scaleDenominator: z.number().positive(),
      cornerOfOrigin: z.enum(['topLeft', 'bottomLeft']).default('topLeft'),
      pointOfOrigin: z.tuple([z.number(), z.number()]),
      tileWidth: whole,
      tileHeight: whole,
      matrixWidth: whole,
      matrixHeight: whole,
    }),
  ),
});

/** The last part of the relation counts: drafts and servers write its beginning in several ways. */
export function linkTo(document: { readonly links: readonly Link[] }, ...relations: string[]): Link | null {
  const fitting = document.links.filter(({ rel }) =>
    relations.includes(rel.replace(/^.*[/:]/, '').replace(/\]$/, '')),
  );
  return fitting.find(({ type = '' }) => /json/i.test(type)) ?? fitting[0] ?? null;
}

/** The name at the end of its URI, e.g. `WebMercatorQuad`. */
export function matrixSetName({ tileMatrixSetId, tileMatrixSetURI = '' }: TileSetItem): string {
  return tileMatrixSetId ?? tileMatrixSetURI.replace(/^.*\//, '');
}

/** Addresses of tiles by media type, with names in braces. */
export function templatesOf({ links: all }: TileSetDocument): ReadonlyMap<string, string> {
  const items = all.filter(({ rel, type }) => rel === 'item' && type !== undefined);
  return new Map(items.map(({ type = '', href }) => [type.toLowerCase(), href]));
}

/** Matrices with rows from the bottom are left out. */
export function matrixSetOf(
  id: string,
  { crs: own, tileMatrices }: z.output<typeof tileMatrixSetDocument>,
  fallbackCrs: string | undefined,
): TileMatrixSet {
  const matrices = tileMatrices
    .filter(({ cornerOfOrigin }) => cornerOfOrigin === 'topLeft')
    .map(({ pointOfOrigin, matrixWidth, matrixHeight, ...matrix }) => ({
      ...matrix,
      topLeftCorner: pointOfOrigin,
      columns: matrixWidth,
      rows: matrixHeight,
    }));
  return { id, crs: own ?? fallbackCrs ?? '', matrices };
}

/** OGC 20-057, 8.2: a server need not describe a registered tile matrix set. Null: not known here. */
export function wellKnownMatrixSet(name: string): TileMatrixSet | null {
  const gridSet = builtInGridSets().find((known) => known.name === name || known.aliases.includes(name));
  if (!gridSet) return null;
  const matrices = gridSet.levels.map((level, z) => ({
    id: String(z),
    scaleDenominator: level.scaleDenominator,
    topLeftCorner: [gridSet.extent.minX, level.top] as const,
    tileWidth: gridSet.tileWidth,
    tileHeight: gridSet.tileHeight,
    columns: level.columns,
    rows: level.rows,
  }));
  return { id: name, crs: `EPSG:${gridSet.srs}`, matrices };
}

export function limitsOf({ tileMatrixSetLimits }: TileSetDocument): MatrixSetLink['limits'] {
  return new Map(
    (tileMatrixSetLimits ?? []).map(({ tileMatrix, minTileRow, maxTileRow, minTileCol, maxTileCol }) => [
      tileMatrix,
      { minX: minTileCol, minY: minTileRow, maxX: maxTileCol, maxY: maxTileRow },
    ]),
  );
}
