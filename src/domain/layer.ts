import { shortened, TilewardenError } from './errors.ts';
import { type Format, formatOf, formatOfExtension, hasContentType, isMixed } from './format.ts';
import type { GridSubset } from './grid-subset.ts';
import type { MetatileSize } from './metatile.ts';
import type { ParameterFilter } from './parameter-filter.ts';

export const LAYER_ACCESS = ['public', 'authenticated', 'viewer', 'operator', 'admin'] as const;
/** Who may read a layer: everyone, signed-in users (`viewer`), or users with at least this role. */
type LayerAccess = (typeof LAYER_ACCESS)[number];

export const OUTSIDE_ANSWERS = ['notFound', 'transparent'] as const;
/** The response for tiles of the grid outside the layer's subset. */
type OutsideResponse = (typeof OUTSIDE_ANSWERS)[number];

export const MISS_ANSWERS = ['source', 'not-found', 'parent'] as const;
/** The response for a tile that is not cached. Tasks always query the source. */
type MissResponse = (typeof MISS_ANSWERS)[number];

/** Formats of GetFeatureInfo. Active content is served so that browsers do not run it. */
export const INFO_FORMATS = [
  'text/plain',
  'text/html',
  'text/xml',
  'application/json',
  'application/geo+json',
  'application/xml',
  'application/vnd.ogc.gml',
  'application/vnd.ogc.gml/3.1.1',
] as const;

/** Holds from its zoom on, up to the next rule's. */
export interface ZoomExpiry {
  readonly minZoom: number;
  readonly seconds: number;
}

/** In place of seconds: tiles are not stored, or a client revalidates each time. */
export const NOT_KEPT = -1;
/** Milliseconds. A tile that is younger than now by more was made while a clock was ahead, and is not fresh. */
export const MAX_CLOCK_LEAD_MS = 300_000;

/** The picture that explains a style. */
export interface Legend {
  /** Empty: the default style. */
  readonly style: string;
  /** Pixels. */
  readonly width: number | null;
  readonly height: number | null;
  readonly format: string;
  /** Null: the source draws it. */
  readonly url: string | null;
  /** Scale denominators. */
  readonly minScale: number | null;
  readonly maxScale: number | null;
}

/** Default grid set of update sources. */
export const WGS_84 = 'EPSG:4326';

export const UPDATE_ACTIONS = ['truncate', 'renew'] as const;

/** A GeoRSS feed that reports where the data of a layer have changed. */
export interface UpdateSource {
  readonly url: string;
  readonly intervalSeconds: number;
  /** EPSG code of the CRS of its geometries. */
  readonly srs: number;
  readonly action: (typeof UPDATE_ACTIONS)[number];
}

/** A layer as it is served, with defaults filled in. `name` is that of declarations and requests. */
export interface Layer {
  readonly name: string;
  /** Whether its tiles are served. Tasks work on it all the same. */
  readonly enabled: boolean;
  /** Whether capabilities and other lists of layers name it. */
  readonly advertised: boolean;
  readonly title: string;
  readonly description: string;
  /** Attribution for map clients. Empty: none. */
  readonly attribution: string;
  readonly keywords: readonly string[];
  /** Documents about its data: address, standard and media type. */
  readonly metadata: readonly { readonly url: string; readonly type: string; readonly format: string }[];
  /** Its name at an authority with a home page. */
  readonly identifier: { readonly authority: string; readonly url: string; readonly value: string } | null;
  /** The first is the default. */
  readonly formats: readonly [Format, ...Format[]];
  /** The first is the default. */
  readonly gridSubsets: readonly [GridSubset, ...GridSubset[]];
  /** For dense screens: not listed to clients, but served on request. */
  readonly retinaSubsets: readonly GridSubset[];
  readonly metatile: MetatileSize;
  /** Pixels fetched around a metatile and cut away, so that labels and symbols at its edge come out whole. */
  readonly gutter: number;
  readonly parameters: readonly ParameterFilter[];
  /** Seconds a tile stays fresh; null: forever; `NOT_KEPT`. */
  readonly expireCacheSeconds: number | null;
  /** By rising zoom; go before the above. 0: forever; `NOT_KEPT`. */
  readonly expireCacheByZoom: readonly ZoomExpiry[];
  /** Lifetimes of the source's server take precedence. */
  readonly followSource: boolean;
  /** For this long a tile that is no longer fresh is served immediately and renewed in the background. */
  readonly staleWhileRevalidateSeconds: number;
  /** For this long a tile that is no longer fresh is answered when its source fails. */
  readonly staleIfErrorSeconds: number;
  /** Seconds a client may keep a tile; 0: no header; `NOT_KEPT`. */
  readonly expireClientsSeconds: number;
  /** By rising zoom; go before the above. */
  readonly expireClientsByZoom: readonly ZoomExpiry[];
  /** Also for its entries in capabilities, TileJSON and lists. */
  readonly access: LayerAccess;
  /** Null: as each service's standard requires. */
  readonly outside: OutsideResponse | null;
  /** `parent`: the nearest cached tile above, stretched; else, as with `not-found`, none. */
  readonly onMiss: MissResponse;
  /** Pictures of any place and size are put together from its tiles. */
  readonly fullWms: boolean;
  /** EPSG codes of CRS in which maps are warped from tiles of others. */
  readonly wmsCrs: readonly number[];
  /** With `cached=false` the source is queried, and nothing is stored. */
  readonly cacheBypass: boolean;
  /** The caller's `Authorization` is sent to the source; nothing is stored, or shared between callers. */
  readonly passCredentials: boolean;
  readonly legends: readonly Legend[];
  /** The name of a filter that omits tiles far from the middle; null: no filter. */
  readonly circularFilter: string | null;
  /** Formats of feature info that its source returns. Empty: it is never queried. */
  readonly infoFormats: readonly string[];
  readonly updateSources: readonly UpdateSource[];
}

/** Seconds a tile of that zoom stays fresh; null: forever; `NOT_KEPT`: it is not kept. */
export function cacheSecondsAt({ expireCacheByZoom, expireCacheSeconds }: Layer, z: number): number | null {
  if (expireCacheByZoom.length === 0) return expireCacheSeconds;
  const rule = expireCacheByZoom.findLast(({ minZoom }) => minZoom <= z);
  return rule && rule.seconds !== 0 ? rule.seconds : null;
}

/** Seconds a client may keep a tile of that zoom; 0: no header; `NOT_KEPT`: it revalidates each time. */
export function clientSecondsAt({ expireClientsByZoom, expireClientsSeconds }: Layer, z: number): number {
  const rule = expireClientsByZoom.findLast(({ minZoom }) => minZoom <= z);
  return rule?.seconds ?? expireClientsSeconds;
}

/** By the grid set's name or an alias of it. Throws `grid-set-unknown`. */
export function gridSubsetOf(layer: Layer, nameOrAlias: string): GridSubset {
  const found = findGridSubset(layer, nameOrAlias);
  if (found) return found;
  const offered = layer.gridSubsets.map(({ gridSet }) => gridSet.name).join(', ');
  throw new TilewardenError(
    'grid-set-unknown',
    `Layer ${layer.name} has no grid set ${shortened(nameOrAlias)}; it has ${offered}.`,
  );
}

/** Null: the layer has no such grid set now. */
export function findGridSubset(layer: Layer, nameOrAlias: string): GridSubset | null {
  const subsets = layer.retinaSubsets.length === 0 ? layer.gridSubsets : everySubset(layer);
  return (
    subsets.find(({ gridSet }) => gridSet.name === nameOrAlias) ??
    subsets.find(({ gridSet }) => gridSet.aliases.includes(nameOrAlias)) ??
    null
  );
}

/** Includes those for dense screens: all that may have tiles in a store. */
export function everySubset(layer: Layer): readonly GridSubset[] {
  return [...layer.gridSubsets, ...layer.retinaSubsets];
}

/** The format for pictures that are drawn from its tiles and encoded once more; null: it has no pictures. */
export function formatToDrawFrom({ formats }: Layer): Format | null {
  const pictures = formats.filter(({ kind }) => kind === 'raster');
  const exact = pictures.find(({ mediaType, lossless }) => lossless || /^image\/png(24)?$/.test(mediaType));
  return exact ?? pictures.find(({ mediaType }) => mediaType === 'image/png8') ?? pictures[0] ?? null;
}

/** By media type or file extension; a mixed format also by that of its tiles. Throws `format-unknown`. */
export function formatOfLayer(layer: Layer, mediaTypeOrExtension: string): Format {
  const wanted = mediaTypeOrExtension.includes('/')
    ? formatOf(mediaTypeOrExtension)
    : formatOfExtension(mediaTypeOrExtension);
  const found =
    layer.formats.find((format) => format.mediaType === wanted?.mediaType) ??
    layer.formats.find(
      (format) => isMixed(format.mediaType) && hasContentType(format, wanted?.mediaType ?? ''),
    );
  if (found) return found;
  const offered = layer.formats.map((format) => format.mediaType).join(', ');
  throw new TilewardenError(
    'format-unknown',
    `Layer ${layer.name} has no format ${shortened(mediaTypeOrExtension)}; it has ${offered}.`,
  );
}

/** Layers that WMS clients request by one name, and that capabilities list below it. */
export interface LayerGroup {
  readonly name: string;
  /** The name when absent. */
  readonly title?: string | undefined;
  /** Names of layers and other groups, the first at the bottom. A group is in one other at most, and not in itself. */
  readonly layers: readonly string[];
}

/** By name. */
export type LayerGroups = ReadonlyMap<string, LayerGroup>;

/** The names of all layers of a group, the first at the bottom; null: no such group. */
export function membersOf(groups: LayerGroups, name: string): readonly string[] | null {
  const group = groups.get(name);
  return group ? group.layers.flatMap((child) => membersOf(groups, child) ?? [child]) : null;
}
