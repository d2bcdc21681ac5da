import { isWithinScales, scaleAt } from '../domain/grid-set.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import type { Coverage } from './mapproxy-coverage.ts';
import type { MapProxyGrid, OfferedGrid } from './mapproxy-grids.ts';
import { listOf, numbersOf, type Table, type TrackedTable } from './tracked-table.ts';

/** How a source is drawn over those below it; empty: unchanged. */
export interface PartOptions {
  readonly opacity?: number;
  /** E.g. `#ffffff`. */
  readonly transparentColor?: string;
  readonly tolerance?: number;
  /** Scale denominators. */
  readonly scales?: readonly [number, number];
}

/** A cache as fields of a layer. */
export interface CachedFields extends Pick<ImportedSource, 'forwarded' | 'grids'> {
  readonly fields: Table;
}

export interface ImportedSource {
  readonly source: Table;
  readonly grids: readonly OfferedGrid[];
  readonly coverage: Coverage | null;
  /** Name of the area with the shape of the coverage. */
  readonly within: string | null;
  /** Request parameters that are passed to the source, in upper case. */
  readonly forwarded: readonly string[];
  /** Fields of the layer that depend on the source. */
  readonly layer: Table;
  readonly options: PartOptions;
}

/** A layer that others are drawn from. */
export interface InnerLayer {
  readonly name: string;
  readonly grids: readonly OfferedGrid[];
}

/** MapProxy's default. */
const USUAL_TOLERANCE = 5;
/** Metres: the size of a pixel of OGC's scales. */
const PIXEL = 0.00028;
const ALL_SCALES = 1e12;
/** MapProxy's own, so that a zoom with exactly this resolution counts. */
const ROUNDING = 1e-6;

export const SCALE_FIELDS = ['min_res', 'max_res', 'min_scale', 'max_scale'];
const IMAGE_FIELDS = ['opacity', 'transparent_color', 'transparent_color_tolerance'];

/** The `image` of a source, and the scales at which it is drawn; or why they cannot be imported. */
export function partOptionsIn(source: TrackedTable): PartOptions | string {
  const image = source.table('image');
  const opacity = image.number('opacity');
  const transparentColor = image.take('transparent_color', colourOf, 'a colour');
  const tolerance = image.number('transparent_color_tolerance');
  const scales = scalesIn(source);
  const unread = [...image.unread(IMAGE_FIELDS), ...source.unread(SCALE_FIELDS)];
  if (unread.length > 0) return `has a value of ${unread.join(', ')} that cannot be read`;
  return omitUndefined({
    opacity: opacity === 1 ? undefined : opacity,
    transparentColor,
    tolerance: transparentColor === undefined ? undefined : (tolerance ?? USUAL_TOLERANCE),
    scales,
  });
}

/** The scales at which WMS shows a layer, as fields of the layer; or why they cannot be imported. */
export function shownScalesIn(layer: TrackedTable, grids: readonly OfferedGrid[]): object | string {
  const scales = scalesIn(layer);
  if (layer.unread(SCALE_FIELDS).length > 0) return 'its resolutions or scales are not numbers';
  if (!scales) return {};
  const isShownIn = ({ gridSet }: MapProxyGrid) =>
    gridSet?.levels.some((_, z) => isWithinScales(scales, scaleAt(gridSet, z)));
  if (!grids.every(({ grid }) => isShownIn(grid))) return 'its resolutions or scales are those of no zoom';
  const [minScale, maxScale] = scales;
  return omitUndefined({
    minScale: minScale === 0 ? undefined : minScale,
    maxScale: maxScale === ALL_SCALES ? undefined : maxScale,
  });
}

/** `min_res` is the coarsest resolution, in metres; scales are 1 : number. */
function scalesIn(source: TrackedTable): readonly [number, number] | undefined {
  const [coarsest, finest] = [source.number('min_res'), source.number('max_res')];
  const [smallest, largest] = [source.number('max_scale'), source.number('min_scale')];
  const to = coarsest === undefined ? smallest : (coarsest + ROUNDING) / PIXEL;
  const from = finest === undefined ? largest : finest / PIXEL;
  return to === undefined && from === undefined ? undefined : [from ?? 0, to ?? ALL_SCALES];
}

/** Three numbers, or a text such as `#f00` or `#ff0000`. */
function colourOf(value: unknown): string | undefined {
  if (typeof value === 'string') return /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value) ? value : undefined;
  const channels = numbersOf(listOf(value))?.slice(0, 3) ?? [];
  if (channels.length !== 3 || channels.some((one) => !(one >= 0 && one <= 255))) return undefined;
  return `#${channels.map((one) => Math.round(one).toString(16).padStart(2, '0')).join('')}`;
}

export function allZooms(grid: MapProxyGrid): OfferedGrid {
  return { grid, zoomStop: grid.zoomStop };
}

/** An imported layer as a source. */
export function partOfLayer(layer: string, grids: readonly MapProxyGrid[]): ImportedSource {
  return {
    source: { type: 'layer', layer },
    grids: grids.map(allZooms),
    coverage: null,
    within: null,
    forwarded: [],
    layer: {},
    options: {},
  };
}

/** Joins caches that have the same maps in different grids; or why none can be used. `leaveOut` reports each other cache. */
export function joinedCaches(
  caches: readonly (readonly [name: string, cache: CachedFields | string])[],
  leaveOut: (why: string) => void,
): CachedFields | string {
  const first = caches.find(([, cache]) => typeof cache !== 'string') ?? caches[0];
  if (!first || typeof first[1] === 'string') return first?.[1] ?? 'it has no caches';
  let joined = first[1];
  const pictureOf = ({ fields: { gridSets: _, adopt: __, ...picture } }: CachedFields) =>
    JSON.stringify(picture);
  const picture = pictureOf(joined);
  for (const [name, cache] of caches) {
    if (typeof cache === 'string') leaveOut(`${name} cannot be used: ${cache}`);
    else if (pictureOf(cache) !== picture) leaveOut(`${name} is made otherwise than ${first[0]}`);
    else if (cache !== joined) joined = withGridsOf(joined, cache);
  }
  return joined;
}

function withGridsOf(joined: CachedFields, { grids, fields }: CachedFields): CachedFields {
  const known = new Set(joined.grids.map(({ grid }) => grid.name));
  const isNew = (name: unknown) => !known.has(String(isRecord(name) ? name.name : name));
  const added = listOf(fields.gridSets).filter(isNew);
  const adopt = [...listOf(joined.fields.adopt), ...listOf(fields.adopt)];
  return {
    ...joined,
    grids: [...joined.grids, ...grids.filter(({ grid }) => isNew(grid.name))],
    fields: {
      ...joined.fields,
      gridSets: [...listOf(joined.fields.gridSets), ...added],
      ...(adopt.length > 0 && { adopt }),
    },
  };
}

/** For sources that are never queried. */
export const EMPTY_SOURCE: ImportedSource['source'] = { type: 'layers', of: [] };

/** Shows nothing but adopted tiles. */
export function emptySource(grids: readonly MapProxyGrid[]): ImportedSource {
  return { ...partOfLayer('', grids), source: EMPTY_SOURCE };
}

/** The sources as one, or why the first unusable one cannot be used. */
export function composedOf(sources: readonly (ImportedSource | string)[]): ImportedSource | string {
  const refused = sources.find((one) => typeof one === 'string');
  if (refused !== undefined) return refused;
  const usable = sources.filter((one) => typeof one !== 'string');
  const drawn = usable.filter(({ source }) => source !== EMPTY_SOURCE);
  return composed(drawn.length > 0 ? drawn : usable.slice(0, 1));
}

/** The sources as one, the first at the bottom; or why the picture would be another one. */
function composed(sources: readonly ImportedSource[]): ImportedSource | string {
  const [first, ...others] = sources;
  if (!first) return 'it has no source that draws maps';
  if (others.length === 0 && Object.keys(first.options).length === 0) return first;
  // A layer takes only the parameters that it declares.
  const external = sources.filter(({ source }) => source.type !== 'layer');
  const parameters = new Set(external.map(({ forwarded }) => [...forwarded].sort().join(', ')));
  if (parameters.size > 1)
    return `its sources get different parameters of requests: ${[...parameters].join('; ')}`;
  const misses = new Set(sources.map(({ layer }) => JSON.stringify(layer.onMiss)));
  if (misses.size > 1) return 'only some of its sources are for seeding only';
  return {
    ...asPart(first),
    source: { type: 'layers', of: sources.map(layerPart) },
    coverage: others.length === 0 ? first.coverage : null,
    forwarded: [...new Set(sources.flatMap(({ forwarded }) => forwarded))],
    grids: commonGrids(sources),
  };
}

/** The source alone as a composed layer, clipped before tiles are stored. */
export function asPart(source: ImportedSource): ImportedSource {
  const { onMiss } = source.layer;
  return {
    ...source,
    source: { type: 'layers', of: [layerPart(source)] },
    within: null,
    layer: onMiss === undefined ? {} : { onMiss },
  };
}

function layerPart({ source, options, within }: ImportedSource): object {
  const { type, layer } = source;
  return {
    ...(type === 'layer' ? { layer } : { source }),
    ...options,
    ...(within !== null && { within }),
  };
}

function commonGrids(sources: readonly ImportedSource[]): readonly OfferedGrid[] {
  const [first, ...others] = sources;
  return (first?.grids ?? []).flatMap(({ grid, zoomStop }) => {
    const twins = others.map((one) => one.grids.find((offered) => offered.grid.name === grid.name));
    if (twins.includes(undefined)) return [];
    const stops = [zoomStop, ...twins.map((twin) => twin?.zoomStop ?? null)].filter((stop) => stop !== null);
    return [{ grid, zoomStop: stops.length === 0 ? null : Math.min(...stops) }];
  });
}
