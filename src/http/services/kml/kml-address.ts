import type { BoundLayer } from '../../../catalog/bound-layer.ts';
import type { Catalog } from '../../../catalog/catalog.ts';
import { invalid, shortened, TilewardenError } from '../../../domain/errors.ts';
import { formatOfExtension } from '../../../domain/format.ts';
import { levelOf } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { boundLayer } from '../tiles.ts';

export type KmlKind = 'kml' | 'kmz';

const DEGREES = 4326;
const KINDS = /^(?<rest>.+)\.(?<kind>kml|kmz)$/i;
const TILE = /^x(0|[1-9]\d{0,9})y(0|[1-9]\d{0,9})z(0|[1-9]\d?)\.(.+)$/;

/** `states.kml`, `states.png.kml`, `states.jpeg.kmz`: a layer, in its own format or a named one. */
export function documentNamed(
  catalog: Pick<Catalog, 'layer'>,
  text: string,
): { readonly bound: BoundLayer; readonly extension: string; readonly kind: KmlKind } {
  const { rest, kind } = splitKind(text);
  if (kind === null) throw invalid(`${shortened(text)} must end in .kml or .kmz.`);
  const whole = catalog.layer(rest);
  if (whole) return { bound: whole, extension: pictureExtension(whole.layer), kind };
  const dot = rest.lastIndexOf('.');
  const extension = dot > 0 ? rest.slice(dot + 1) : '';
  const name = formatOfExtension(extension) ? rest.slice(0, dot) : rest;
  return { bound: boundLayer(catalog, name), extension, kind };
}

/** `x1y2z3.png` is a tile, rows from the bottom; `x1y2z3.png.kml` tells of it. */
export function tileNamed(
  subset: GridSubset,
  text: string,
): { readonly index: TileIndex; readonly extension: string; readonly kind: KmlKind | null } {
  const { rest, kind } = splitKind(text);
  const [, x, y, z, extension] = TILE.exec(rest) ?? [];
  if (x === undefined || extension === undefined) {
    throw invalid(`A tile is named x1y2z3.png, and its document x1y2z3.png.kml, not ${shortened(text)}.`);
  }
  const zoom = Number(z);
  const row = levelOf(subset.gridSet, zoom).rows - 1 - Number(y);
  return { index: { z: zoom, x: Number(x), y: row }, extension, kind };
}

/** The name of a tile, without an extension. */
export function nameOfTile({ gridSet }: GridSubset, { z, x, y }: TileIndex): string {
  return `x${x}y${levelOf(gridSet, z).rows - 1 - y}z${z}`;
}

/** KML knows longitude and latitude only. */
export function degreesSubset(layer: Layer): GridSubset {
  const found = layer.gridSubsets.find(({ gridSet }) => gridSet.srs === DEGREES);
  if (found) return found;
  throw new TilewardenError(
    'grid-set-unknown',
    `KML needs a grid set in EPSG:4326, and layer ${layer.name} has none.`,
  );
}

function pictureExtension({ formats, name }: Layer): string {
  const format = formats.find(({ kind }) => kind === 'raster');
  if (format) return format.extensions[0];
  throw new TilewardenError('format-unknown', `Layer ${name} has no pictures to show in KML.`);
}

function splitKind(text: string): { readonly rest: string; readonly kind: KmlKind | null } {
  const { rest = text, kind = null } = KINDS.exec(text)?.groups ?? {};
  return { rest, kind: kind === null ? null : (kind.toLowerCase() as KmlKind) };
}
