import { invalid, TilewardenError } from '../../domain/errors.ts';
import type { ParameterFilter } from '../../domain/parameter-filter.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { FORM, requireMediaType } from '../auth/request-checks.ts';
import type { Context } from '../context.ts';
import type { Handler, Route } from '../route.ts';

/** Reads a parameter by its name in upper case. Null: missing or empty. */
export type Kvp = (name: string) => string | null;

/** Parameters whose values are compared in any case. */
const WORDS: ReadonlySet<string> = new Set(['SERVICE', 'REQUEST']);

/**
 * The key-value pairs of a query, names in any case. A name with two different values is refused when it is read:
 * names that are never read are not checked.
 */
export function readKvp(query: string, refusal = givenTwice): Kvp {
  const values = new Map<string, string>();
  const contradictory = new Set<string>();
  for (const [key, value] of new URLSearchParams(query)) {
    const name = key.toUpperCase();
    if (!isSame(name, values.get(name) ?? value, value)) contradictory.add(name);
    values.set(name, value);
  }
  return (name) => {
    if (contradictory.has(name)) throw refusal(name);
    return values.get(name) || null;
  };
}

function givenTwice(name: string): Error {
  return invalid(`The parameter ${name} is given twice.`);
}

function isSame(name: string, one: string, other: string): boolean {
  return one === other || (WORDS.has(name) && one.toLowerCase() === other.toLowerCase());
}

/** The pairs of the address and of a posted form. */
export function pairsOf({ query, body }: Context): string {
  return [query, body.toString()].filter((pairs) => pairs !== '').join('&');
}

/** Routes of a KVP service, with and without a closing slash, by GET and as a form. `tiles` as in `Route`. */
export function kvpRoutes(path: string, handler: Handler, tiles: RegExp): readonly Route[] {
  const readForm: Handler = (context) => {
    requireMediaType(context.headers, [FORM]);
    return handler(context);
  };
  const shared = { role: 'public', sharing: 'anyone' } as const;
  return [path, `${path}/`].flatMap((each): Route[] => [
    { method: 'GET', path: each, handler, tiles, ...shared },
    { method: 'POST', path: each, handler: readForm, ...shared },
  ]);
}

const NONE: ReadonlyMap<string, string> = new Map();

/** The query parameters that the layer's filters use, names in upper case. */
export function parametersOf(
  query: string,
  filters: readonly ParameterFilter[],
): ReadonlyMap<string, string> {
  if (query === '' || filters.length === 0) return NONE;
  const known = new Set(filters.map((filter) => filter.name));
  const parameters = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(query)) {
    const name = key.toUpperCase();
    if (!known.has(name)) continue;
    if (parameters.has(name))
      throw new TilewardenError('parameter-refused', `The parameter ${name} is given twice.`);
    parameters.set(name, value);
  }
  return parameters;
}

/** `cached=false`: GeoWebCache's clients request a picture directly from the source. The layer must allow it. */
export function withBypass(kvp: Kvp, tiles: ResolvedTileSet): ResolvedTileSet {
  if (kvp('CACHED')?.toLowerCase() !== 'false') return tiles;
  const { layer } = tiles.bound;
  if (layer.cacheBypass) return { ...tiles, bypass: true };
  throw invalid(`Layer ${layer.name} is not configured to allow bypassing the cache.`);
}
