import type { ApiResponse } from '../api/client.ts';

export type LayerInfo = ApiResponse<'GET /api/v1/layers/{layer}'>;
export type GridSetInfo = LayerInfo['gridSets'][number];
/** The public part of a layer, from `tiles.json`. */
export type OfferedLayer = Pick<
  LayerInfo,
  'name' | 'title' | 'gridSets' | 'formats' | 'extensions' | 'parameters'
>;

/** A grid set, format and parameter values of a layer. */
export interface TileSet<Layer extends OfferedLayer = LayerInfo> {
  readonly layer: Layer;
  readonly gridSet: GridSetInfo;
  readonly format: string;
  /** Values that differ from the default, by name. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The declaration as text, of a layer that is not declared yet. */
  readonly preview?: string;
}

/**
 * The tile set that an address names, as far as the layer offers it. The console has media types and `p.NAME` there and
 * shows the fault of a value; the public map has extensions and bare names (prefix `''`), and ignores unlisted values.
 */
export function tileSetFrom<Layer extends OfferedLayer>(
  layer: Layer,
  wishes: URLSearchParams,
  prefix = 'p.',
): TileSet<Layer> | null {
  const gridSet = layer.gridSets.find(({ name }) => name === wishes.get('gridSet')) ?? layer.gridSets[0];
  if (!gridSet) return null;
  const format = wishes.get('format') ?? '';
  const place = Math.max(0, layer.formats.indexOf(format), layer.extensions.indexOf(format));
  const parameters = layer.parameters.flatMap(({ name, default: usual, values }) => {
    const value = wishes.get(`${prefix}${name}`) ?? usual;
    const isIgnored = prefix === '' && values !== null && !values.includes(value);
    return value === usual || isIgnored ? [] : [[name, value] as const];
  });
  return { layer, gridSet, format: layer.formats[place] ?? '', parameters: Object.fromEntries(parameters) };
}

/** With another value of a parameter. */
export function withParameter<Set extends TileSet<OfferedLayer>>(set: Set, name: string, value: string): Set {
  const { [name]: _, ...others } = set.parameters;
  const usual = set.layer.parameters.find((one) => one.name === name)?.default;
  return { ...set, parameters: value === usual ? others : { ...others, [name]: value } };
}

/** The same as part of a page's address. */
export function wishesOf({ gridSet, format, parameters }: TileSet): Record<string, string> {
  return { gridSet: gridSet.name, format, ...parameterWishes(parameters) };
}

export function parameterWishes(parameters: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [`p.${name}`, value]));
}

/** Relative to the page; rows count from the top. */
export function tileAddress(
  set: TileSet<OfferedLayer>,
  z: number | string,
  x: number | string,
  y: number | string,
): string {
  const { layer, gridSet, parameters, preview } = set;
  if (preview !== undefined) {
    return `api/v1/preview/${encodeURIComponent(gridSet.name)}/${z}/${x}/${y}?${new URLSearchParams({ document: preview })}`;
  }
  const path = `tiles/${encodeURIComponent(layer.name)}/${encodeURIComponent(gridSet.name)}/${z}/${x}/${y}.${extensionOf(set)}`;
  const query = new URLSearchParams(parameters).toString();
  return query === '' ? path : `${path}?${query}`;
}

export function extensionOf({ layer, format }: TileSet<OfferedLayer>): string {
  return layer.extensions[layer.formats.indexOf(format)] ?? 'png';
}

/** `?format=…&NAME=value` for our own interface. */
export function tileSetQuery({ format, parameters }: TileSet): string {
  return new URLSearchParams({ format, ...parameters }).toString();
}

/** The stored tile, for `GET` of a signed-in user; the request creates no tile. */
export function tileContentAddress(
  set: TileSet,
  { z, x, y }: { readonly z: number; readonly x: number; readonly y: number },
): string {
  const { layer, gridSet } = set;
  return `api/v1/layers/${encodeURIComponent(layer.name)}/tiles/${encodeURIComponent(gridSet.name)}/${z}/${x}/${y}/content?${tileSetQuery(set)}`;
}

/** A little smaller, so that rounding reaches no neighbour of a tile. */
export function insideOf(bounds: readonly [number, number, number, number]): readonly number[] {
  const [minX, minY, maxX, maxY] = bounds;
  const [dx, dy] = [(maxX - minX) * 0.01, (maxY - minY) * 0.01];
  return [minX + dx, minY + dy, maxX - dx, maxY - dy];
}
