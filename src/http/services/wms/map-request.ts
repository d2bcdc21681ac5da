import { type BoundLayer, boundLayer, type Catalog } from '../../../catalog/catalog.ts';
import type { Bounds, MapPicture } from '../../../domain/bounds.ts';
import { shortened } from '../../../domain/errors.ts';
import { type Format, formatOf, formatOfExtension } from '../../../domain/format.ts';
import { type GridSet, namesNorthingFirst } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import { formatToDrawFrom, type Layer, membersOf } from '../../../domain/layer.ts';
import type { ParameterFilter } from '../../../domain/parameter-filter.ts';
import { sameSrs } from '../../../domain/srs.ts';
import { checkMapSize } from '../../../pipeline/map-composer.ts';
import { subsetToWarp } from '../../../pipeline/map-plan.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { isOpenTo, requireVisible, visibleLayers } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
import type { Kvp } from '../kvp.ts';
import { DEFAULT, isStyleFilter } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { badValue, blaming, required, type ServiceCode, ServiceException } from '../service-exception.ts';

const WHOLE_NUMBER = /^[1-9]\d{0,8}$|^0$/;
const COLOUR = /^(?:0x|#)?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i;

export function wholeNumber(kvp: Kvp, name: string, code: ServiceCode = 'InvalidParameterValue'): number {
  const text = required(kvp, name);
  if (WHOLE_NUMBER.test(text)) return Number(text);
  throw new ServiceException(
    code,
    name,
    `${name} must be a whole number such as 256, not ${shortened(text)}.`,
  );
}

export function isTrue(kvp: Kvp, name: string): boolean {
  const text = kvp(name)?.toLowerCase() ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw badValue(name, `${name} must be TRUE or FALSE, not ${shortened(text)}.`);
}

/** WMS 1.3.0, 7.3.3.10: white by default. */
export function backgroundColour(kvp: Kvp): readonly [number, number, number] {
  const text = kvp('BGCOLOR') ?? '0xFFFFFF';
  const [, red, green, blue] = COLOUR.exec(text) ?? [];
  if (red && green && blue) {
    return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
  }
  throw badValue('BGCOLOR', `BGCOLOR must be a colour such as 0xFFFFFF, not ${shortened(text)}.`);
}

/** Values other than the defaults. `style`: this layer's entry in STYLES. */
function filterValues(layer: Layer, kvp: Kvp, style: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const filter of layer.parameters) {
    const value = isStyleFilter(filter) ? style : (kvp(filter.name) ?? '');
    if (isStyleFilter(filter) && value === DEFAULT && !filter.values?.includes(DEFAULT)) continue;
    const applied = blaming(codeOf(filter), filter.name, () => filter.apply(value));
    if (applied !== filter.defaultValue) values.set(filter.name, value);
  }
  if (!layer.parameters.some(isStyleFilter)) refuseStyle(layer, style);
  return values;
}

/** A layer without styles has the default one, with an empty name. */
function refuseStyle(layer: Layer, style: string): void {
  if (style === '' || style === DEFAULT) return;
  const message = `Layer ${layer.name} has no style ${shortened(style)}.`;
  throw new ServiceException('StyleNotDefined', 'STYLES', message);
}

function codeOf(filter: ParameterFilter): ServiceCode {
  if (isStyleFilter(filter)) return 'StyleNotDefined';
  return isDimension(filter) ? 'InvalidDimensionValue' : 'InvalidParameterValue';
}

/** WMS 1.3.0, annex C. */
export function isDimension({ name, times }: Pick<ParameterFilter, 'name'> & { times?: unknown }): boolean {
  return Boolean(times) || name === 'TIME' || name === 'ELEVATION' || name.startsWith('DIM_');
}

const WMS_VERSIONS = ['1.1.1', '1.3.0'] as const;
export type WmsVersion = (typeof WMS_VERSIONS)[number];

const PARTS = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?$/;

/**
 * The version of a map request. WMS 1.0.0 calls the parameter `WMTVER`. Without one it is 1.1.1, as in GeoWebCache, unless
 * the request uses a parameter of 1.3.0.
 */
export function versionOf(kvp: Kvp): WmsVersion {
  const version = kvp('VERSION') ?? kvp('WMTVER');
  if (version === null) return kvp('CRS') !== null && kvp('SRS') === null ? '1.3.0' : '1.1.1';
  const known = nearest(version);
  if (known) return known;
  throw badValue(
    'VERSION',
    `The supported versions of WMS are ${WMS_VERSIONS.join(' and ')}, not ${shortened(version)}.`,
  );
}

/** WMS 1.3.0, 6.2.4: the requested version, else the next lower one, else the lowest; by default the highest. */
export function negotiatedVersion(kvp: Kvp): WmsVersion {
  const version = kvp('VERSION') ?? kvp('WMTVER');
  // GeoWebCache describes its tile sets in 1.1.1 only.
  if (version === null) return wantsTileSets(kvp) ? '1.1.1' : '1.3.0';
  const [, major = '0', minor = '0'] = PARTS.exec(version) ?? [];
  return Number(major) * 1000 + Number(minor) >= 1003 ? '1.3.0' : '1.1.1';
}

export function wantsTileSets(kvp: Kvp): boolean {
  return kvp('TILED')?.toLowerCase() === 'true';
}

/** The other versions of 1.0, 1.1 and 1.3 have the same parameters. */
function nearest(version: string): WmsVersion | null {
  const [, major, minor] = PARTS.exec(version) ?? [];
  if (major !== '1') return null;
  if (minor === '3') return '1.3.0';
  return minor === '0' || minor === '1' ? '1.1.1' : null;
}

export interface MapCrs {
  readonly name: string;
  readonly code: number;
  /** CRS:84 is EPSG:4326 with longitude first in every version. */
  readonly longitudeFirst: boolean;
}

const WEB_MERCATOR = 3857;
const DEGREES = 4326;
const CODE = /^(?:EPSG:|urn:(?:x-)?ogc:def:crs:EPSG:[\d.]*:)([1-9]\d{0,8})$/i;
const CRS84 = /^(?:CRS:84|OGC:CRS84|urn:ogc:def:crs:OGC:(?:1\.3)?:CRS84)$/i;

/** SRS in 1.1.1, CRS in 1.3.0; both are accepted in either version. */
export function requestedCrs(kvp: Kvp, version: WmsVersion): MapCrs {
  const [usual, other] = version === '1.3.0' ? ['CRS', 'SRS'] : ['SRS', 'CRS'];
  const name = kvp(usual ?? '') ?? kvp(other ?? '') ?? required(kvp, usual ?? '');
  if (CRS84.test(name)) return { name, code: DEGREES, longitudeFirst: true };
  const [, code] = CODE.exec(name) ?? [];
  if (code !== undefined) return { name, code: Number(code), longitudeFirst: false };
  throw invalidCrs(version, `${usual} must be a code such as EPSG:3857, not ${shortened(name)}.`);
}

/** Subsets in the CRS; all if the layer is warped to it. */
function subsetsIn(layer: Layer, crs: MapCrs, version: WmsVersion): Pick<MapLayer, 'subsets' | 'isWarped'> {
  const [first, ...others] = layer.gridSubsets.filter(({ gridSet }) => sameSrs(gridSet.srs, crs.code));
  if (first) return { subsets: [first, ...others], isWarped: false };
  if (layer.wmsCrs.some((code) => sameSrs(code, crs.code))) {
    return { subsets: layer.gridSubsets, isWarped: true };
  }
  throw invalidCrs(
    version,
    `Layer ${layer.name} is not available in ${shortened(crs.name)}; it is in ${crsOfLayer(layer, version).join(', ')}.`,
  );
}

/** Names of the CRS of its grid sets and of its warped maps. */
export function crsOfLayer({ gridSubsets, wmsCrs }: Layer, version: WmsVersion): readonly string[] {
  const codes = [...gridSubsets.map(({ gridSet: { srs } }) => srs), ...wmsCrs];
  return [...new Set(codes.flatMap((srs) => crsNames({ srs }, version)))];
}

/** The listed names of a CRS, the usual one first; requests may use others too. */
export function crsNames({ srs }: Pick<GridSet, 'srs'>, version: WmsVersion): readonly [string, ...string[]] {
  if (sameSrs(srs, WEB_MERCATOR)) return ['EPSG:3857', 'EPSG:900913'];
  if (srs === DEGREES && version === '1.3.0') return ['EPSG:4326', 'CRS:84'];
  return [`EPSG:${srs}`];
}

/** WMS 1.3.0, 6.7.2: boxes are in the order of the CRS's axes. In 1.1.1 x always comes first. */
export function isYFirst(
  gridSet: Pick<GridSet, 'srs' | 'yCoordinateFirst'>,
  crs: Pick<MapCrs, 'longitudeFirst'>,
  version: WmsVersion,
): boolean {
  if (version === '1.1.1' || crs.longitudeFirst) return false;
  return gridSet.srs === DEGREES || gridSet.yCoordinateFirst;
}

function invalidCrs(version: WmsVersion, message: string): ServiceException {
  return version === '1.3.0'
    ? new ServiceException('InvalidCRS', 'CRS', message)
    : new ServiceException('InvalidSRS', 'SRS', message);
}

/** A layer of the requested map, with its style and its grid sets in the map's CRS. */
export interface MapLayer {
  readonly bound: BoundLayer;
  readonly style: string;
  readonly subsets: readonly [GridSubset, ...GridSubset[]];
  /** They are in other CRS than the map. */
  readonly isWarped: boolean;
}

/** A grid set in the CRS of the map, in which the caller's areas are placed. Throws if all layers are warped. */
export function gridSetOfMap(layers: readonly MapLayer[], { name }: MapCrs): GridSet {
  const own = layers.find(({ isWarped }) => !isWarped);
  if (own) return own.subsets[0].gridSet;
  throw new ServiceException(
    'InvalidParameterValue',
    'CRS',
    `Callers that are limited to areas see these layers in the CRS of their grid sets only, not in ${shortened(name)}.`,
  );
}

/** A grid set can override the axis order of its CRS. */
function axesOf(layers: readonly MapLayer[], { code }: MapCrs): Pick<GridSet, 'srs' | 'yCoordinateFirst'> {
  const own = layers.find(({ isWarped }) => !isWarped);
  return own?.subsets[0].gridSet ?? { srs: code, yCoordinateFirst: namesNorthingFirst(code) };
}

/** Per map. */
export const MAX_LAYERS = 20;

/** A name may contain commas; a text that is not a known name is a list of names. */
function requestedNames(kvp: Kvp, parameter: string, isKnown: (name: string) => boolean): readonly string[] {
  const text = required(kvp, parameter);
  if (isKnown(text)) return [text];
  const names = text.split(',');
  if (names.length > MAX_LAYERS) throw badValue(parameter, `A map has at most ${MAX_LAYERS} layers.`);
  return names;
}

export function requestedLayers(
  catalog: Pick<Catalog, 'layer'>,
  kvp: Kvp,
  parameter: string,
): readonly BoundLayer[] {
  const names = requestedNames(kvp, parameter, (name) => catalog.layer(name) !== null);
  return names.map((name) => blaming('LayerNotDefined', parameter, () => boundLayer(catalog, name)));
}

/** WMS 1.3.0, 7.3.3.4: as many styles as layers, or none at all. */
function requestedStyles(kvp: Kvp, count: number): readonly string[] {
  const text = kvp('STYLES') ?? '';
  if (text === '') return Array.from({ length: count }, () => '');
  const styles = count === 1 ? [text] : text.split(',');
  if (styles.length === count) return styles;
  throw new ServiceException(
    'StyleNotDefined',
    'STYLES',
    `There are ${count} layers and ${styles.length} styles; name one for each layer, or none.`,
  );
}

export function withSubsets(
  layers: readonly StyledLayer[],
  crs: MapCrs,
  version: WmsVersion,
): readonly MapLayer[] {
  return layers.map(({ bound, style }) => ({ bound, style, ...subsetsIn(bound.layer, crs, version) }));
}

/** Formats of maps, independent of the stored ones; the capabilities list these. */
export const MAP_FORMATS: readonly string[] = ['png', 'png8', 'jpeg', 'webp', 'gif'].map(
  (name) => `image/${name}`,
);

/** By media type, or by a short name such as `png`, in any case. With the options of a layer that has it. */
export function mapFormat([first, ...others]: readonly BoundLayer[], kvp: Kvp): Format {
  const name = required(kvp, 'FORMAT');
  const format = formatOf(name) ?? (name.includes('/') ? null : formatOfExtension(name));
  if (format && first && [first, ...others].every(({ layer }) => storedFormat(layer, format))) {
    return first.layer.formats.find(({ mediaType }) => mediaType === format.mediaType) ?? format;
  }
  const own = first?.layer.formats.map(({ mediaType }) => mediaType) ?? [];
  const offered = first && formatToDrawFrom(first.layer) ? [...new Set([...own, ...MAP_FORMATS])] : own;
  throw new ServiceException(
    'InvalidFormat',
    'FORMAT',
    `There is no format ${shortened(name)} of these layers; there are ${offered.join(', ')}.`,
  );
}

/** The format of the tiles that a picture in `format` is made of: the same if the layer has it. */
function storedFormat(layer: Layer, { mediaType, kind }: Format): Format | null {
  const same = layer.formats.find((format) => format.mediaType === mediaType);
  return same ?? (kind === 'raster' ? formatToDrawFrom(layer) : null);
}

export function requestedPlace(
  kvp: Kvp,
  layers: readonly MapLayer[],
  crs: MapCrs,
  version: WmsVersion,
): MapPicture {
  const bounds = readBounds(required(kvp, 'BBOX'), isYFirst(axesOf(layers, crs), crs, version));
  const width = wholeNumber(kvp, 'WIDTH');
  const height = wholeNumber(kvp, 'HEIGHT');
  blaming('InvalidParameterValue', width >= height ? 'WIDTH' : 'HEIGHT', () => checkMapSize(width, height));
  return { bounds, width, height };
}

/** The grid set that a picture of the layer is drawn from. */
export function subsetFor({ subsets, isWarped }: MapLayer, place: MapPicture, { code }: MapCrs): GridSubset {
  return isWarped ? subsetToWarp(subsets, place, { srs: code, projection: null }) : subsets[0];
}

export function mapTileSet(
  { bound, style }: MapLayer,
  subset: GridSubset,
  format: Format,
  kvp: Kvp,
): ResolvedTileSet {
  return resolveTileSet(bound, {
    gridSet: subset.gridSet.name,
    format: (storedFormat(bound.layer, format) ?? format).mediaType,
    parameters: filterValues(bound.layer, kvp, style),
  });
}

function readBounds(text: string, yFirst: boolean): Bounds {
  const parts = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [a = Number.NaN, b = Number.NaN, c = Number.NaN, d = Number.NaN] = parts;
  const bounds = yFirst ? { minX: b, minY: a, maxX: d, maxY: c } : { minX: a, minY: b, maxX: c, maxY: d };
  const order = yFirst ? 'minY,minX,maxY,maxX' : 'minX,minY,maxX,maxY';
  const isBox = parts.length === 4 && parts.every(Number.isFinite);
  if (isBox && bounds.minX < bounds.maxX && bounds.minY < bounds.maxY) return bounds;
  throw badValue(
    'BBOX',
    `BBOX must be four numbers ${order}, the lower before the higher; it is ${shortened(text)}.`,
  );
}

export interface StyledLayer {
  readonly bound: BoundLayer;
  readonly style: string;
  /** The request names its group, not the layer. */
  readonly isMember: boolean;
}

/** The layers of a map, the first at the bottom. A group is drawn with those of its layers that the caller may see. */
export async function requestedMapLayers(
  context: Context,
  { catalog, groups }: Pick<Services, 'catalog' | 'groups'>,
  kvp: Kvp,
  parameter: 'LAYERS' | 'QUERY_LAYERS' = 'LAYERS',
): Promise<readonly StyledLayer[]> {
  const names = requestedNames(kvp, parameter, (name) => catalog.layer(name) !== null || groups.has(name));
  const styles = parameter === 'LAYERS' ? requestedStyles(kvp, names.length) : [];
  const layers: StyledLayer[] = [];
  for (const [index, name] of names.entries()) {
    const style = styles[index] ?? '';
    const members = catalog.layer(name) ? null : membersOf(groups, name);
    const visible = members ? await visibleMembers(context, catalog, members) : [];
    if (visible.length > 0) refuseGroupStyle(name, style);
    for (const bound of visible) layers.push({ bound, style: '', isMember: true });
    if (visible.length > 0) continue;
    // A group without visible layers is as unknown as a layer.
    const bound = blaming('LayerNotDefined', parameter, () => boundLayer(catalog, name));
    if (!isOpenTo(context, bound.layer)) await requireVisible(context, bound.layer);
    layers.push({ bound, style, isMember: false });
  }
  if (layers.length > MAX_LAYERS) throw badValue(parameter, `A map has at most ${MAX_LAYERS} layers.`);
  return layers;
}

async function visibleMembers(
  context: Context,
  catalog: Services['catalog'],
  names: readonly string[],
): Promise<readonly BoundLayer[]> {
  const members = names.flatMap((name) => catalog.layer(name) ?? []).filter(({ layer }) => layer.enabled);
  const layers = members.map(({ layer }) => layer);
  const visible = new Set(await visibleLayers(context, layers));
  return members.filter(({ layer }) => visible.has(layer));
}

function refuseGroupStyle(name: string, style: string): void {
  if (style === '' || style === DEFAULT) return;
  throw new ServiceException('StyleNotDefined', 'STYLES', `Group ${name} has no style ${shortened(style)}.`);
}
