import { type Bounds, boundsAround } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import { everySubset, type Layer, type Legend } from '../../domain/layer.ts';
import type { ParameterFilter } from '../../domain/parameter-filter.ts';
import { boundsFromWgs84, projectionOf, projectionOfSrs } from '../../domain/projection.ts';
import { isWebMercator } from '../../domain/srs.ts';
import { remembered } from '../../lib/get-or-create.ts';
import { type Html as Markup, html as markup } from '../page.ts';
import { BASE } from './layer-documents.ts';

export function titleOf({ title, name }: Layer): string {
  return title === '' ? name : title;
}

type GeographicBox = readonly [west: number, south: number, east: number, north: number];

/** The bounding box of a layer; null when none of its grid sets can be converted to degrees. */
export function geographicExtent(layer: Layer): GeographicBox | null {
  const boxes = layer.gridSubsets.flatMap((subset) => geographicBounds(subset) ?? []);
  return boxes.length === 0 ? null : roundedBox(boundsAround(boxes));
}

export function geographicBoxOf(subset: GridSubset): GeographicBox | null {
  const bounds = geographicBounds(subset);
  return bounds && roundedBox(bounds);
}

function geographicBounds({ gridSet, extent }: GridSubset): Bounds | null {
  return projectionOf(gridSet)?.boundsToWgs84(extent) ?? null;
}

function roundedBox({ minX, minY, maxX, maxY }: Bounds): GeographicBox {
  return [rounded(minX), rounded(minY), rounded(maxX), rounded(maxY)];
}

/** To a hundred-millionth of a degree, about a millimetre. */
function rounded(degrees: number): number {
  return Math.round(degrees * 1e8) / 1e8;
}

/** One bounding box per CRS: of several, clients would take any one for the whole layer. */
export function extentsByCrs<Crs>(
  { gridSubsets }: Layer,
  crsOf: (subset: GridSubset) => readonly (readonly [name: string, crs: Crs])[],
): readonly { readonly crs: Crs; readonly bounds: Bounds }[] {
  const extents = new Map<string, { crs: Crs; bounds: Bounds }>();
  for (const subset of gridSubsets) {
    for (const [name, crs] of crsOf(subset)) {
      const bounds = boundsAround([subset.extent, extents.get(name)?.bounds ?? subset.extent]);
      extents.set(name, { crs, bounds });
    }
  }
  return [...extents.values()];
}

/** The extent of a layer in each CRS that its maps are warped to, by EPSG code. */
export const warpedExtents = remembered((layer: Layer): ReadonlyMap<number, Bounds> => {
  const boxes = layer.gridSubsets.flatMap((subset) => geographicBounds(subset) ?? []);
  const extents = new Map<number, Bounds>();
  for (const code of boxes.length === 0 ? [] : layer.wmsCrs) {
    const projection = projectionOfSrs(code);
    const bounds = projection && boundsFromWgs84(projection, boundsAround(boxes));
    if (bounds) extents.set(code, bounds);
  }
  return extents;
});

/** The grid set of addresses without one: the layer's first in web mercator. */
export function webMercatorSubset(layer: Layer): GridSubset {
  const subset = layer.gridSubsets.find(({ gridSet }) => isWebMercator(gridSet));
  if (subset) return subset;
  const offered = layer.gridSubsets.map(({ gridSet }) => gridSet.name).join(', ');
  throw new TilewardenError(
    'grid-set-unknown',
    `Layer ${layer.name} has no grid set in web mercator; name one of ${offered} in the address.`,
  );
}

/** WMTS requires a style name, even for layers without styles; for dimensions it means the default value. */
export const DEFAULT = 'default';

const STYLES = 'STYLES';

/** Names of the layer's styles. The first is the default, `DEFAULT` if its name is empty. */
export function stylesOf(layer: Layer): readonly [string, ...string[]] {
  const filter = layer.parameters.find(isStyleFilter);
  const first = filter?.defaultValue || DEFAULT;
  const others = (filter?.values ?? []).filter((value) => value !== first && value !== '');
  return [first, ...others];
}

export type Dimension = ReturnType<typeof dimensionsOf>[number];

/** Filters whose values can be listed: OGC 07-057r7, table 9, requires values. Intervals of time are listed by their ends. */
export function dimensionsOf(layer: Layer) {
  return layer.parameters
    .filter((filter) => !isStyleFilter(filter))
    .map(({ name, defaultValue, values, times = null }) => ({
      name,
      defaultValue,
      values: times?.listed() ?? values ?? [],
      times,
    }))
    .filter(({ values }) => values.length > 0);
}

export function isStyleFilter({ name }: ParameterFilter): boolean {
  return name === STYLES;
}

/** Legends of the default style have its name or no name. */
export function legendsOf({ legends }: Layer, style: string, isDefault: boolean): readonly Legend[] {
  return legends.filter((legend) => legend.style === style || (isDefault && legend.style === ''));
}

/** The legend's own address, or our GetLegendGraphic, in which `BASE` is replaced by the server's address when sent. */
export function legendAddress({ name }: Layer, legend: Legend): Markup {
  if (legend.url !== null) return markup`${legend.url}`;
  const query = new URLSearchParams({
    SERVICE: 'WMS',
    REQUEST: 'GetLegendGraphic',
    VERSION: '1.1.1',
    LAYER: name,
    STYLE: legend.style,
    FORMAT: legend.format,
    ...(legend.width !== null && { WIDTH: String(legend.width) }),
    ...(legend.height !== null && { HEIGHT: String(legend.height) }),
  });
  return markup`${BASE}/service/wms?${query.toString()}`;
}

export const gridSetsOf = remembered((layers: readonly Layer[]): readonly GridSet[] => [
  ...namedGridSets(layers.map(({ gridSubsets }) => gridSubsets)).values(),
]);

/** Includes grid sets for dense screens (`@2x`). */
export const everyGridSetOf = remembered((layers: readonly Layer[]) =>
  namedGridSets(layers.map(everySubset)),
);

function namedGridSets(subsets: readonly (readonly GridSubset[])[]): ReadonlyMap<string, GridSet> {
  return new Map(subsets.flatMap((ofLayer) => ofLayer.map(({ gridSet }) => [gridSet.name, gridSet])));
}

export const contentTypesOf = remembered(
  (layers: readonly Layer[]): ReadonlySet<string> =>
    new Set(layers.flatMap(({ formats }) => formats.map(({ contentType }) => contentType))),
);
