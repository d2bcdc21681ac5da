import { type Encoding, encodingOptions, formatOf } from '../domain/format.ts';
import { projectionOfSrs } from '../domain/projection.ts';
import { sameSrs } from '../domain/srs.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import type { ImportedGroup, SubjectReport } from './import-report.ts';
import { SCALE_FIELDS } from './mapproxy-parts.ts';
import { mapProxyMetadata } from './service-metadata.ts';
import { listOf, numberOf, type Table, type TrackedTable } from './tracked-table.ts';

const UNITS: Readonly<Record<string, number>> = {
  seconds: 1,
  minutes: 60,
  hours: 3600,
  days: 86_400,
  weeks: 604_800,
};

/** MapProxy's default for its WMS. */
const USUAL_WMS_CRS = ['EPSG:4326', 'EPSG:4258', 'EPSG:3857'];
const WEB_MERCATOR = 3857;
/** MapProxy's default for JPEG. */
const USUAL_QUALITY = 90;
const USUAL_FORMAT = 'image/png';

/** False for sources that are only for GetFeatureInfo. */
export function drawsMaps(source: Table): boolean {
  return [source.wms_opts, source.opts].every((options) => !isRecord(options) || options.map !== false);
}

/** The sources that WMS shows, the first at the bottom; null: the layer has only caches for tile services, several. */
export function shownSources(layer: TrackedTable): readonly string[] | null {
  const [tiles, sources] = [layer.texts('tile_sources'), layer.texts('sources')];
  if (tiles.length === 1) return tiles;
  return sources.length === 0 && tiles.length > 1 ? null : sources;
}

/** Whether a layer shows this cache and nothing else. */
export function showsOnly(layer: Table, cache: string): boolean {
  const sources = listOf(layer.tile_sources ?? layer.sources);
  const isLimited = ['dimensions', ...SCALE_FIELDS].some((field) => layer[field] !== undefined);
  return sources.length === 1 && sources[0] === cache && !isLimited;
}

/** Undefined if sources are listed by band. */
export function namesIn(value: unknown): readonly string[] | undefined {
  const list = listOf(value);
  return list.every((one) => typeof one === 'string') ? (list as readonly string[]) : undefined;
}

/** Undefined for a point in time. */
export function secondsOf(value: unknown): number | undefined {
  if (!isRecord(value)) return undefined;
  const parts = Object.entries(value).map(
    ([unit, count]) => (UNITS[unit] ?? Number.NaN) * (numberOf(count) ?? Number.NaN),
  );
  const seconds = parts.reduce((sum, part) => sum + part, 0);
  return seconds > 0 ? Math.round(seconds) : undefined;
}

/** Layers with a name, also inside groups. In an old form of the file they are fields by name. */
export function namedLayers(value: unknown): readonly Table[] {
  if (isRecord(value)) {
    return Object.entries(value).map(([name, layer]) => ({ name, ...(isRecord(layer) ? layer : {}) }));
  }
  return listOf(value).flatMap((layer) => {
    if (!isRecord(layer)) return [];
    const own = layer.name !== undefined && showsItself(layer) ? [layer] : [];
    return [...own, ...namedLayers(layer.layers ?? [])];
  });
}

/** Named layers that only have other layers below them; MapProxy draws those, the first at the bottom. */
export function groupsIn(value: unknown): readonly ImportedGroup[] {
  return listOf(value).flatMap((layer) => {
    if (!isRecord(layer)) return [];
    const inner = groupsIn(layer.layers);
    if (layer.name === undefined || showsItself(layer)) return inner;
    const title = layer.title === undefined ? {} : { title: String(layer.title) };
    return [{ name: String(layer.name), ...title, layers: namesBelow(layer.layers) }, ...inner];
  });
}

/** Groups without a name are only titles. */
function namesBelow(value: unknown): readonly string[] {
  return listOf(value).flatMap((layer) => {
    if (!isRecord(layer)) return [];
    return layer.name === undefined ? namesBelow(layer.layers) : [String(layer.name)];
  });
}

function showsItself(layer: Table): boolean {
  return layer.sources !== undefined || layer.tile_sources !== undefined;
}

/** The format of a cache, which `image` of the globals may describe; null: it is not served here. */
export function cacheFormat(cache: TrackedTable, image: TrackedTable): string | null {
  const name = cache.text('format') ?? USUAL_FORMAT;
  return formatNamed(image.table('formats').table(name).text('format') ?? name);
}

/** MapProxy writes PNG for every name that begins with `png`. */
function formatNamed(name: string): string | null {
  if (name === 'mixed') return 'image/vnd.jpeg-png';
  const known = formatOf(mediaTypeOf(name)) ?? (name.startsWith('png') ? formatOf('image/png') : null);
  return known?.mediaType ?? null;
}

export function mediaTypeOf(format: string): string {
  return format.includes('/') ? format : `image/${format}`;
}

/** The encoding of tiles in a format of ours: from the cache's own `image`, that of its format, or the globals'. */
export function cacheEncoding(format: string, cache: TrackedTable, image: TrackedTable): string | object {
  const tables = [cache.table('image'), image.table('formats').table(cache.text('format') ?? USUAL_FORMAT)];
  const options = encodingOptions(format);
  const read = (option: keyof Encoding, value: (table: TrackedTable) => number | undefined) =>
    options.includes(option) ? tables.map(value).find((one) => one !== undefined && one > 0) : undefined;
  const quality =
    read('quality', (table) => table.table('encoding_options').number('jpeg_quality')) ??
    (/jpeg/.test(format) ? (image.number('jpeg_quality') ?? USUAL_QUALITY) : undefined);
  const colors = read('colors', (table) => table.number('colors'));
  if (quality === undefined && colors === undefined) return format;
  return omitUndefined({ type: format, quality, colors });
}

/** Titles and texts of a layer. */
export function describingFields(layer: TrackedTable): object {
  const legend = layer.take(
    'legendurl',
    (url) => (/^https?:/.test(String(url)) ? String(url) : undefined),
    'an http address',
  );
  return {
    title: layer.text('title'),
    ...mapProxyMetadata(layer.table('md')),
    description: layer.table('md').text('abstract'),
    attribution: layer.table('md').table('attribution').text('title'),
    legends: legend === undefined ? undefined : [{ url: legend }],
  };
}

/** Dimensions that reach the source, as parameters of the layer. */
export function dimensionsOf(layer: TrackedTable, forwarded: readonly string[]) {
  const dimensions = layer.table('dimensions');
  return dimensions.keys().flatMap((key) => {
    const name = key.toUpperCase();
    const dimension = dimensions.table(key);
    const listed = dimension.texts('values');
    if (!forwarded.includes(name)) {
      dimensions.leaveOut(key, 'does not reach the source: it is not in forward_req_params');
      return [];
    }
    const usual = dimension.text('default');
    if (name.includes('TIME') && listed.some((value) => value.includes('/')))
      return [{ name, type: 'time', values: listed, default: usual ?? 'latest' }];
    const [only = ''] = listed;
    const values = listed.length === 1 ? only.trim().split('/') : listed;
    return [{ name, values, default: usual ?? values.at(-1) }];
  });
}

/** EPSG codes of its WMS that are known here. */
export function wmsCrsIn(tree: Table, about: SubjectReport): readonly number[] {
  const listed = listOf(tableIn(tableIn(tree, 'services'), 'wms').srs).map(String);
  const unknown: string[] = [];
  const codes = (listed.length > 0 ? listed : USUAL_WMS_CRS).map((name) => {
    const code = srsOfCrs(name);
    if (code !== null && projectionOfSrs(code)) return sameSrs(code, WEB_MERCATOR) ? WEB_MERCATOR : code;
    unknown.push(name);
    return null;
  });
  if (unknown.length > 0) about.changed('services.wms.srs', `without ${unknown.join(', ')}: not known here`);
  else if (listed.length > 0) about.taken('services.wms.srs');
  return [...new Set(codes.filter((code) => code !== null))];
}

export function tableIn(tree: Table, key: string): Table {
  const value = tree[key];
  return isRecord(value) ? value : {};
}
