import { type GridSet, levelOf } from '../../domain/grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { byQuadkey, inHexadecimal, inThousands } from '../tile-paths.ts';

export const TILE_PLACEHOLDERS: ReadonlySet<string> = new Set([
  ...['z', 'x', 'y', '-y', 'quadkey', 's'],
  ...['tilecache', '-tilecache', 'arcgis', '-arcgis'],
]);
/** Those that name a tile by themselves. */
const WHOLE_PLACES = ['quadkey', 'tilecache', '-tilecache', 'arcgis', '-arcgis'];

const PLACEHOLDER = /\{([^{}]*)\}/g;

export interface TileTemplate {
  readonly url: string;
  readonly zoomOffset: number;
  readonly subdomains: readonly string[];
  readonly keys: Readonly<Record<string, string>>;
}

export function placeholdersOf(template: string): ReadonlySet<string> {
  return new Set([...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name));
}

/** Whether a template with these placeholders has an address for each tile. */
export function namesTile(used: ReadonlySet<string>): boolean {
  const row = used.has('y') || used.has('-y');
  return WHOLE_PLACES.some((name) => used.has(name)) || (used.has('z') && used.has('x') && row);
}

/** The address of a tile. Rows of `{y}` count from the top, those of `{-y}` from the bottom. */
export function tileUrl(template: TileTemplate, gridSet: GridSet, { z, x, y }: TileIndex): URL {
  const zoom = z + template.zoomOffset;
  const fromBottom = () => levelOf(gridSet, z).rows - 1 - y;
  const values: Readonly<Record<string, () => string>> = {
    z: () => String(zoom),
    x: () => String(x),
    y: () => String(y),
    '-y': () => String(fromBottom()),
    quadkey: () => byQuadkey({ z: zoom, x, y }).join('/'),
    tilecache: () => inThousands({ z: zoom, x, y }).join('/'),
    '-tilecache': () => inThousands({ z: zoom, x, y: fromBottom() }).join('/'),
    arcgis: () => inHexadecimal({ z: zoom, x, y }).join('/'),
    '-arcgis': () => inHexadecimal({ z: zoom, x, y: fromBottom() }).join('/'),
    s: () => template.subdomains[(x + y) % template.subdomains.length] ?? '',
  };
  const fill = (whole: string, name: string) => {
    const key = Object.hasOwn(template.keys, name) ? template.keys[name] : undefined;
    return key === undefined ? (values[name]?.() ?? whole) : encodeURIComponent(key);
  };
  return new URL(template.url.replace(PLACEHOLDER, fill));
}
