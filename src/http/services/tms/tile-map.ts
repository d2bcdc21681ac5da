import type { BoundLayer } from '../../../catalog/bound-layer.ts';
import type { Catalog } from '../../../catalog/catalog.ts';
import { shortened, TilewardenError } from '../../../domain/errors.ts';
import type { Format } from '../../../domain/format.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import { gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import { formatNamed } from '../tile-address.ts';
import { boundLayer } from '../tiles.ts';

/** What TMS calls a tile map: one layer in one grid set and one format. */
export interface TileMap {
  readonly bound: BoundLayer;
  readonly subset: GridSubset;
  readonly format: Format;
}

/** `layer@gridSet@extension`; names may hold an `@`, so it is read from its end. */
const FULL_NAME = /^(?<layer>.+)@(?<gridSet>[^@]+)@(?<extension>[^@]+)$/;

/**
 * A bare layer name means the layer's first grid set; without an extension of a tile, its first format.
 * Throws `layer-unknown`, `grid-set-unknown` or `format-unknown`.
 */
export function tileMapNamed(
  catalog: Pick<Catalog, 'layer'>,
  name: string,
  extension: string | null,
): TileMap {
  const parts = FULL_NAME.exec(name)?.groups;
  const short = catalog.layer(name);
  if (short || !parts) return tileMapOf(short ?? boundLayer(catalog, name), null, extension);
  const { layer = '', gridSet = '', extension: named = '' } = parts;
  const map = tileMapOf(boundLayer(catalog, layer), gridSet, named);
  if (extension !== null) checkExtension(map, named, extension);
  return map;
}

/** The extension of a tile says the same as that of its tile map, in whatever spelling. */
function checkExtension({ bound, format }: TileMap, ofMap: string, ofTile: string): void {
  if (formatNamed(bound.layer, ofTile) === format) return;
  throw new TilewardenError(
    'format-unknown',
    `This tile map has .${ofMap} tiles only, no .${shortened(ofTile)} ones.`,
  );
}

export function tileMapName(layer: Layer, { gridSet }: GridSubset, format: Format): string {
  return `${encodeURIComponent(layer.name)}@${encodeURIComponent(gridSet.name)}@${format.extensions[0]}`;
}

function tileMapOf(bound: BoundLayer, gridSet: string | null, extension: string | null): TileMap {
  const { layer } = bound;
  return {
    bound,
    subset: gridSet === null ? layer.gridSubsets[0] : gridSubsetOf(layer, gridSet),
    format: extension === null ? layer.formats[0] : formatNamed(layer, extension),
  };
}
