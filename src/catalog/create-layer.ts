import { boundsOf } from '../domain/bounds.ts';
import { misconfigured } from '../domain/errors.ts';
import { FORMAT_NAMES, type Format, formatOf } from '../domain/format.ts';
import type { GridSetRegistry, Scales } from '../domain/grid-set.ts';
import { createGridSubset, type GridSubset, retinaSubset } from '../domain/grid-subset.ts';
import { readPeriod } from '../domain/iso-time.ts';
import { type Layer, type Legend, type UpdateSource, WGS_84, type ZoomExpiry } from '../domain/layer.ts';
import { createParameterFilter, type ParameterFilter } from '../domain/parameter-filter.ts';
import { projectionOf, projectionOfSrs } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { createTimeFilter } from '../domain/time-filter.ts';
import { readTimeValues } from '../domain/time-values.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import type { LayerDeclaration, ParameterDeclaration } from './layer-declaration.ts';
import { type KnownTimes, originOfTimes } from './time-lists.ts';

/** At least one, as the schema of a declaration requires. */
type Some<T> = readonly [T, ...T[]];

/** Throws `config-invalid` or `grid-set-unknown`, which names the invalid field. */
export function createLayer(
  declaration: LayerDeclaration,
  gridSets: GridSetRegistry,
  clock: Pick<Clock, 'now'> = systemClock,
  known: FindTimes = noneKnown,
): Layer {
  const { name, enabled, advertised, title, description, attribution } = declaration;
  const { gutter, followSource, access, outside, onMiss, metatile } = declaration;
  const [columns, rows] = metatile;
  const [cacheSeconds, expireCacheByZoom] = expiryOf(declaration.expireCache);
  const [expireClientsSeconds, expireClientsByZoom] = expiryOf(declaration.expireClients);
  const scales = scalesOf(declaration);
  const subsets = declaration.gridSets.map((subset) => createSubset(subset, gridSets, scales));
  const gridSubsets = eachOnce(subsets, ({ gridSet }) => gridSet.name, 'grid set') as Some<GridSubset>;
  const formats = eachOnce(declaration.formats.map(createFormat), ({ mediaType }) => mediaType, 'format');
  return {
    name,
    enabled,
    advertised,
    title,
    description,
    attribution,
    keywords: declaration.keywords,
    metadata: declaration.metadata,
    identifier: declaration.identifier ?? null,
    gutter,
    followSource,
    access,
    outside,
    onMiss,
    formats: formats as Some<Format>,
    gridSubsets,
    retinaSubsets: declaration.retina ? gridSubsets.map(retinaSubset) : [],
    metatile: { columns, rows },
    parameters: eachOnce(declaration.parameters, ({ name }) => name.toUpperCase(), 'parameter').map(
      (parameter) => createFilter(parameter, clock, timesOf(parameter, declaration.source, known)),
    ),
    expireCacheSeconds: cacheSeconds || null,
    expireCacheByZoom,
    staleWhileRevalidateSeconds: declaration.staleWhileRevalidate,
    staleIfErrorSeconds: declaration.staleIfError,
    expireClientsSeconds,
    expireClientsByZoom,
    fullWms: declaration.fullWMS,
    wmsCrs: wmsCrsOf(declaration, gridSubsets),
    infoFormats: declaration.queryable ? declaration.infoFormats : [],
    cacheBypass: declaration.cacheBypass,
    passCredentials: declaration.passCredentials,
    legends: declaration.legends.map(createLegend),
    circularFilter: declaration.requestFilters[0]?.name ?? null,
    updateSources: declaration.updateSources.map((source) => createUpdateSource(source, name, gridSubsets)),
  };
}

/** The EPSG codes of `wmsCrs`, without those of the layer's grid sets. */
function wmsCrsOf(
  { name, fullWMS, wmsCrs }: LayerDeclaration,
  subsets: readonly GridSubset[],
): readonly number[] {
  if (wmsCrs.length > 0 && !fullWMS)
    throw misconfigured(`wmsCrs of layer ${name} goes only with fullWMS: true.`);
  const codes = [...new Set(wmsCrs.map((crs) => Number(crs.slice('EPSG:'.length))))];
  const unknown = codes.find((code) => projectionOfSrs(code) === null);
  if (unknown !== undefined) {
    throw misconfigured(`wmsCrs of layer ${name} has EPSG:${unknown}, whose projection is not known here.`);
  }
  const far = subsets.find(({ gridSet }) => projectionOf(gridSet) === null);
  if (codes.length > 0 && far) {
    throw misconfigured(
      `wmsCrs of layer ${name} needs the projection of each of its grid sets, and that of ${far.gridSet.name} is not known; declare it with the grid set.`,
    );
  }
  return codes.filter((code) => !subsets.some(({ gridSet }) => sameSrs(gridSet.srs, code)));
}

/** Geometries are in WGS 84, or in the CRS of a grid set that cannot be removed while the layer has it. */
function createUpdateSource(
  { gridSet, ...source }: LayerDeclaration['updateSources'][number],
  layer: string,
  subsets: readonly GridSubset[],
): UpdateSource {
  const own = subsets.find(({ gridSet: { name, aliases } }) => [name, ...aliases].includes(gridSet));
  if (!own && gridSet !== WGS_84) {
    throw misconfigured(`updateSources names grid set ${gridSet}, which layer ${layer} does not have.`);
  }
  const srs = own?.gridSet.srs ?? 4326;
  if (projectionOfSrs(srs) !== null) return { ...source, srs };
  throw misconfigured(`updateSources names grid set ${gridSet}; its CRS, EPSG:${srs}, is not known here.`);
}

const NO_DETAILS = { width: null, height: null, url: null, minScale: null, maxScale: null };

function createLegend(legend: LayerDeclaration['legends'][number]): Legend {
  return { ...NO_DETAILS, ...omitUndefined(legend), style: legend.style, format: legend.format };
}

/** Seconds for all zooms, and by zoom. With a list of zooms the first is 0. */
function expiryOf(declared: LayerDeclaration['expireCache']): readonly [number, readonly ZoomExpiry[]] {
  if (typeof declared === 'number') return [declared, []];
  return [0, declared.toSorted((a, b) => a.minZoom - b.minZoom)];
}

function createFormat(declared: LayerDeclaration['formats'][number]): Format {
  const { type: mediaType, ...encoding } = typeof declared === 'string' ? { type: declared } : declared;
  const format = formatOf(mediaType);
  if (format) return { ...format, ...omitUndefined(encoding) };
  throw misconfigured(`There is no format ${mediaType}; there are ${FORMAT_NAMES.join(', ')}.`);
}

function scalesOf({ minScale, maxScale }: LayerDeclaration): Scales | null {
  return minScale === null && maxScale === null ? null : [minScale ?? 0, maxScale ?? Infinity];
}

function createSubset(
  subset: LayerDeclaration['gridSets'][number],
  gridSets: GridSetRegistry,
  scales: Scales | null,
): GridSubset {
  if (typeof subset === 'string') return createGridSubset(gridSets.get(subset), { scales });
  const { name, extent, ...options } = subset;
  return createGridSubset(gridSets.get(name), {
    ...omitUndefined(options),
    scales,
    ...(extent && { extent: boundsOf(extent) }),
  });
}

/** Finds the times of a parameter in the database; `origin` as `originOfTimes` returns it. */
type FindTimes = (parameter: string, origin: string) => KnownTimes;

const noneKnown: FindTimes = () => ({ list: () => null, seededUntil: () => null });

/** Times of its source, or its own declared ones. */
function timesOf(declared: ParameterDeclaration, source: unknown, find: FindTimes): KnownTimes {
  const { from, values = [] } = declared;
  const known = find(declared.name.toUpperCase(), originOfTimes(from, source));
  if (declared.type !== 'time' || from !== undefined) return known;
  const list = { values: readTimeValues([values].flat().map(String)), revision: 0 };
  return { ...known, list: () => list };
}

function createFilter(
  declared: ParameterDeclaration,
  clock: Pick<Clock, 'now'>,
  known: KnownTimes,
): ParameterFilter {
  const { default: byDefault, values, type, nearest = false, keep, seed, ...rest } = declared;
  const texts = values !== undefined && { values: [values].flat().map(String) };
  if (type === 'time') {
    return createTimeFilter({
      name: rest.name,
      defaultValue: String(byDefault),
      nearest,
      keep: keep === undefined ? null : readPeriod(keep),
      seed: seed ?? null,
      ...known,
      // Without a seed there is nothing to wait for.
      seededUntil: seed ? known.seededUntil : () => null,
      now: () => clock.now(),
    });
  }
  return createParameterFilter({
    ...omitUndefined(rest),
    ...texts,
    name: rest.name,
    defaultValue: String(byDefault),
  });
}

/** Without repetitions: a grid set may be repeated by an alias, a parameter in another letter case. */
function eachOnce<T>(items: readonly T[], nameOf: (item: T) => string, what: string): readonly T[] {
  const byName = new Map<string, T>();
  for (const item of items) {
    const there = byName.get(nameOf(item)) ?? item;
    if (there !== item && JSON.stringify(there) !== JSON.stringify(item)) {
      throw misconfigured(`The ${what} ${nameOf(item)} is declared twice with different settings.`);
    }
    byName.set(nameOf(item), there);
  }
  return [...byName.values()];
}

export function formatNames({ formats }: Pick<LayerDeclaration, 'formats'>): readonly string[] {
  return formats.map((format) => (typeof format === 'string' ? format : format.type));
}

export function gridSetNames({ gridSets }: Pick<LayerDeclaration, 'gridSets'>): readonly string[] {
  return gridSets.map((subset) => (typeof subset === 'string' ? subset : subset.name));
}
