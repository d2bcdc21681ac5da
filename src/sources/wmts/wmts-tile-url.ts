import type { MatchedTile } from '../match-grid.ts';
import type { WmtsLayer } from '../wmts-capabilities.ts';
import type { WmtsSourceOptions } from './wmts-source-options.ts';

export interface TileChoice {
  readonly layer: WmtsLayer;
  readonly tile: MatchedTile;
  readonly format: string;
  readonly style: string;
  readonly dimensions: ReadonlyMap<string, string>;
}

/** Requests by query go to the declared address, whatever host the server thinks it has. */
export function queryUrl(base: string, choice: TileChoice): URL {
  const url = new URL(base);
  const { matrixSet, matrix, row, column } = choice.tile;
  const parameters: readonly (readonly [string, string])[] = [
    ['SERVICE', 'WMTS'],
    ['REQUEST', 'GetTile'],
    ['VERSION', '1.0.0'],
    ['LAYER', choice.layer.id],
    ['STYLE', choice.style],
    ['FORMAT', choice.format],
    ['TILEMATRIXSET', matrixSet],
    ['TILEMATRIX', matrix],
    ['TILEROW', String(row)],
    ['TILECOL', String(column)],
    ...choice.dimensions,
  ];
  const own = new Set(['ACCEPTVERSIONS', ...parameters.map(([name]) => name.toUpperCase())]);
  for (const name of [...url.searchParams.keys()]) {
    if (own.has(name.toUpperCase())) url.searchParams.delete(name);
  }
  for (const [name, value] of parameters) url.searchParams.set(name, value);
  return url;
}

/** OGC 07-057r7, 10.2.1: a template with names in braces. Null when the layer has none for the format. */
export function pathUrl(base: string, choice: TileChoice): URL | null {
  const template = choice.layer.templates.get(choice.format);
  if (template === undefined) return null;
  const { matrixSet, matrix, row, column } = choice.tile;
  const values = new Map<string, string>([
    ['layer', choice.layer.id],
    ['style', choice.style],
    ['tilematrixset', matrixSet],
    ['tilematrix', matrix],
    ['tilerow', String(row)],
    ['tilecol', String(column)],
  ]);
  for (const [name, value] of choice.dimensions) values.set(name.toLowerCase(), value);
  const filled = template.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const value = values.get(name.toLowerCase());
    return value === undefined ? whole : encodeURIComponent(value);
  });
  return URL.canParse(filled, base) ? new URL(filled, base) : null;
}

/** Whether the declared address is a document rather than a service that reads queries. */
export function isDocument(url: string): boolean {
  return /\.xml$/i.test(new URL(url).pathname);
}

export function capabilitiesUrl({ url: declared }: Pick<WmtsSourceOptions, 'url'>): URL {
  const url = new URL(declared);
  const asksAlready = [...url.searchParams].some(
    ([name, value]) => /^request$/i.test(name) && /^getcapabilities$/i.test(value),
  );
  if (asksAlready || isDocument(declared)) return url;
  for (const [name, value] of [
    ['SERVICE', 'WMTS'],
    ['REQUEST', 'GetCapabilities'],
    ['VERSION', '1.0.0'],
  ] as const) {
    url.searchParams.set(name, value);
  }
  return url;
}
