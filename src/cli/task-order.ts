import { existsSync, readFileSync } from 'node:fs';
import { type Arguments, type Flag, type FlagValues, flag, misuse } from './command.ts';
import type { FieldFlags } from './server-client.ts';

/** The fields that the flags set; the server has defaults for the others. */
export const ORDER_FLAGS: readonly Flag[] = [
  flag('grid-set', 'NAME', 'of the layer (its first)'),
  flag('zoom-start', 'Z', 'first zoom level (the layer’s first)'),
  flag('zoom-stop', 'Z', 'last zoom level (the layer’s last)'),
  flag(
    'bounds',
    'MINX,MINY,MAXX,MAXY',
    'in the CRS of the grid set, x first; for degrees see --area (the layer’s extent)',
  ),
  flag('area', 'FILE|NAME', 'GeoJSON polygons, or an area of the configuration file; narrows the bounds'),
  flag('area-crs', 'CRS', 'of the area: EPSG:4326 (default) or grid-set'),
  flag('format', 'FORMAT', 'e.g. image/png or png (the layer’s first)'),
  flag('parameter', 'NAME=VALUE', 'e.g. STYLES=dark (the defaults); may be repeated', true),
  flag('threads', 'N', 'concurrent metatiles (1)'),
  flag('priority', 'N', 'higher runs first (0)'),
];

export const ORDER_FIELDS: FieldFlags = {
  gridSet: 'grid-set',
  zoomStart: 'zoom-start',
  zoomStop: 'zoom-stop',
  areaCrs: 'area-crs',
  threadCount: 'threads',
};

/** The body for `POST /api/v1/tasks`. */
export function taskOrder(type: string, layer: string, flags: FlagValues, args: Arguments) {
  return {
    layer,
    type,
    ...selectedTiles(flags, args),
    ...selectedArea(flags),
    ...named('threadCount', wholeNumber('threads', flags)),
    ...named('priority', wholeNumber('priority', flags)),
  };
}

/** As in the file; the server checks it. */
export function selectedArea(flags: FlagValues) {
  return { ...named('area', areaFlag(flags)), ...named('areaCrs', areaCrsIn(flags)) };
}

export function selectedTiles(flags: FlagValues, args: Arguments) {
  return {
    ...named('gridSet', flags['grid-set']),
    ...named('zoomStart', wholeNumber('zoom-start', flags)),
    ...named('zoomStop', wholeNumber('zoom-stop', flags)),
    ...named('bounds', boundsFlag(flags)),
    ...named('format', formatFlag(flags)),
    ...named('parameters', parametersIn(args)),
  };
}

function named<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: Value });
}

function wholeNumber(flag: string, flags: FlagValues): number | undefined {
  const text = flags[flag];
  if (text === undefined) return undefined;
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw misuse(`--${flag} must be a whole number, not ${text}.`);
}

function boundsFlag({ bounds }: FlagValues): readonly [number, number, number, number] | undefined {
  if (bounds === undefined) return undefined;
  const numbers = bounds.split(',').map((text) => (text.trim() === '' ? Number.NaN : Number(text)));
  const [minX = Number.NaN, minY = Number.NaN, maxX = Number.NaN, maxY = Number.NaN] = numbers;
  if (numbers.length === 4 && numbers.every(Number.isFinite)) return [minX, minY, maxX, maxY];
  throw misuse(`--bounds must be four numbers, MINX,MINY,MAXX,MAXY, not ${bounds}.`);
}

/** An extent with larger coordinates is not in degrees. */
const MAX_DEGREES = 360;

/** A warning for bounds in degrees in a grid set with other units; null: they fit. */
export function boundsHint(
  order: { readonly bounds?: readonly number[]; readonly gridSet?: string },
  gridSets: readonly { readonly name: string; readonly srs: string; readonly extent: readonly number[] }[],
): string | null {
  const { bounds = [] } = order;
  const gridSet = gridSets.find(({ name }) => name === order.gridSet) ?? gridSets[0];
  if (!looksLikeDegrees(order) || !gridSet || gridSet.extent.every((edge) => Math.abs(edge) <= MAX_DEGREES))
    return null;
  return `--bounds ${bounds.join(',')} looks like degrees, and grid set ${gridSet.name} is in the units of ${gridSet.srs}. For degrees use --area with a GeoJSON file.`;
}

export function looksLikeDegrees({ bounds }: { readonly bounds?: readonly number[] }): boolean {
  const [minX = Number.NaN, minY = Number.NaN, maxX = Number.NaN, maxY = Number.NaN] = bounds ?? [];
  return minX >= -180 && minY >= -90 && maxX <= 180 && maxY <= 90;
}

/** `png` is short for `image/png`. */
function formatFlag({ format }: FlagValues): string | undefined {
  if (format === undefined || format.includes('/')) return format;
  return `image/${format === 'jpg' ? 'jpeg' : format}`;
}

function parametersIn({ repeated }: Arguments): Readonly<Record<string, string>> | undefined {
  const pairs = repeated.get('parameter')?.map((text) => {
    const at = text.indexOf('=');
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)] as const;
    throw misuse(`--parameter must be NAME=VALUE, not ${text}.`);
  });
  return pairs && Object.fromEntries(pairs);
}

function areaCrsIn({ area, 'area-crs': crs }: FlagValues): string | undefined {
  if (crs === undefined) return undefined;
  if (area === undefined) throw misuse('--area-crs requires --area.');
  if (crs === 'EPSG:4326' || crs === 'grid-set') return crs;
  throw misuse(`--area-crs must be EPSG:4326 or grid-set, not ${crs}.`);
}

/** GeoJSON of a file, or a name. */
function areaFlag({ area, 'area-crs': crs }: FlagValues): unknown {
  if (area === undefined) return undefined;
  if (!/[/\\]|json$/i.test(area) && crs === undefined && !existsSync(area)) return area;
  try {
    return JSON.parse(readFileSync(area, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw misuse(`--area ${area} cannot be read as GeoJSON: ${why}`);
  }
}
