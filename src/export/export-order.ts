import { type Bounds, boundsOf, intersectBounds } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import { formatOfLayer, gridSubsetOf, type Layer } from '../domain/layer.ts';
import { refuseUnknownParameters, selectParameters } from '../domain/parameter-filter.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { ArchiveContent } from './archive-metadata.ts';

/** What an administrator wants to have exported; what is left out is the layer's first, or all of it. */
export interface ExportOrder {
  readonly layer: string;
  readonly gridSet?: string;
  readonly format?: string;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
  /** minX, minY, maxX, maxY in the CRS of the grid set. */
  readonly bounds?: readonly [number, number, number, number];
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Throws `grid-set-unknown`, `format-unknown`, `parameter-refused` or `request-invalid`. */
export function exportedPart(
  layer: Layer,
  order: ExportOrder,
): { readonly set: TileSetKey; readonly content: ArchiveContent } {
  const subset = order.gridSet === undefined ? layer.gridSubsets[0] : gridSubsetOf(layer, order.gridSet);
  const format = order.format === undefined ? layer.formats[0] : formatOfLayer(layer, order.format);
  const parameters = new Map(Object.entries(order.parameters ?? {}));
  refuseUnknownParameters(layer.parameters, parameters);
  const { id } = selectParameters(layer.parameters, parameters);
  const zoomStart = Math.max(order.zoomStart ?? subset.zoomStart, subset.zoomStart);
  const zoomStop = Math.min(order.zoomStop ?? subset.zoomStop, subset.zoomStop);
  if (zoomStart > zoomStop) {
    throw new TilewardenError(
      'request-invalid',
      `The layer has zooms ${subset.zoomStart} to ${subset.zoomStop} in ${subset.gridSet.name}; none of them was asked for.`,
    );
  }
  const set = { layer: layer.name, gridSet: subset.gridSet.name, format: format.mediaType, parametersId: id };
  const bounds = boundsIn(order, subset.extent);
  return { set, content: { layer, subset, format, zoomStart, zoomStop, bounds } };
}

function boundsIn({ bounds }: ExportOrder, extent: Bounds): Bounds {
  const inside = bounds ? intersectBounds(boundsOf(bounds), extent) : extent;
  if (inside) return inside;
  throw new TilewardenError('request-invalid', "The bounds lie outside the layer's extent.");
}
