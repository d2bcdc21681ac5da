import { type GridSet, levelOf } from '../../domain/grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';

export const TILE_PLACEHOLDERS: ReadonlySet<string> = new Set(['z', 'x', 'y', '-y', 'quadkey', 's']);

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

/** The address of a tile. Rows of `{y}` count from the top, those of `{-y}` from the bottom. */
export function tileUrl(template: TileTemplate, gridSet: GridSet, { z, x, y }: TileIndex): URL {
  const zoom = z + template.zoomOffset;
  const values: Readonly<Record<string, () => string>> = {
    z: () => String(zoom),
    x: () => String(x),
    y: () => String(y),
    '-y': () => String(levelOf(gridSet, z).rows - 1 - y),
    quadkey: () => quadkeyOf(zoom, x, y),
    s: () => template.subdomains[(x + y) % template.subdomains.length] ?? '',
  };
  const fill = (whole: string, name: string) => {
    const key = Object.hasOwn(template.keys, name) ? template.keys[name] : undefined;
    return key === undefined ? (values[name]?.() ?? whole) : encodeURIComponent(key);
  };
  return new URL(template.url.replace(PLACEHOLDER, fill));
}

/** One digit for each zoom, from the top: 1 adds a column, 2 a row, 3 both. */
export function quadkeyOf(z: number, x: number, y: number): string {
  let digits = '';
  for (let bit = z - 1; bit >= 0; bit--) {
    const at = 2 ** bit;
    digits += String((Math.floor(x / at) % 2) + 2 * (Math.floor(y / at) % 2));
  }
  return digits;
}
