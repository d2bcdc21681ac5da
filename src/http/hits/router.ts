import { decodeUriPart } from '../../lib/decode-uri.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import type { PathParams, Target } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import { slashAdded } from '../response.ts';
import { checkRoutes, METHODS, type Route, type RouteRole } from '../route.ts';

/** Translates an address of another program into ours, both without a prefix; null: not one of theirs. */
export type Rewrite = (path: string, query: string) => string | null;

export interface Match extends Target {
  readonly kind: 'found' | 'method-not-allowed' | 'unknown' | 'malformed';
  /** Callers without this role do not even get a 404. */
  readonly role: RouteRole;
  /** If only the method is wrong, another route of the path. */
  readonly route: Route | null;
  readonly allow: string;
}

/** While the database is unreachable, a route that has `whileAway` needs no role. */
export function matchWhileAway(match: Match): Match {
  const { kind, route } = match;
  if (kind !== 'found' || !route?.whileAway) return match;
  return { ...match, role: 'public', route: { ...route, role: 'public', handler: route.whileAway } };
}

export type Router = ReturnType<typeof createRouter>;

/** Below these an unknown path needs credentials, so that paths cannot be probed. */
const CLOSED_AREAS: ReadonlySet<string> = new Set(['rest', 'api', 'masstruncate', 'diskquota', 'metrics']);

interface Place {
  readonly segments: readonly SegmentPattern[];
  /** By method; the first one represents the path when the method is wrong. */
  readonly routes: Map<string, Route>;
  readonly allow: string;
  /** Callers without this role do not get a 405. */
  readonly role: RouteRole;
}

/** Redirects `/geowebcache` to `/geowebcache/`, as the page there has relative addresses. */
const BARE_PREFIX: Place = routePlace('', [
  { method: 'GET', path: '', role: 'public', handler: ({ path }) => slashAdded(path) },
]);

interface SegmentPattern {
  readonly before: string;
  /** Null: the segment is plain text, `before`. */
  readonly name: string | null;
  readonly after: string;
}

/**
 * Finds routes by path. Paths are split before they are decoded, and each segment is decoded once, so that a layer's
 * name may have a slash, a dot or a percent sign.
 */
export function createRouter(
  routes: readonly Route[],
  prefixes: readonly string[],
  rewrite: Rewrite | null = null,
) {
  checkRoutes(routes);
  const placesFor = createPlaceIndex(routes);
  const folders = prefixes.map((prefix) => `${prefix}/`).sort((a, b) => b.length - a.length);
  const barePrefixes = new Set(prefixes.filter((prefix) => prefix !== ''));
  const remembered = new Map<string, Match>();

  return {
    /** `requestTarget` as in the request line. */
    match(method: string, requestTarget: string): Match {
      const target = rewritten(requestTarget);
      if (method !== 'GET') return find(method, target);
      const known = remembered.get(target);
      if (known) return known;
      const match = find(method, target);
      if (match.kind === 'found' && match.role === 'public') remember(target, match);
      return match;
    },
  };

  /** Our address for one of another program. Not cached, as changes of layers may change it. */
  function rewritten(target: string): string {
    if (!rewrite) return target;
    const { path, query } = splitTarget(target);
    const folder = folderOf(path);
    const prefix = folder?.slice(0, -1) ?? '';
    const ours = rewrite(path.slice(prefix.length), query);
    return ours === null ? target : `${prefix}${ours}`;
  }

  /** Tiles are requested repeatedly, and the route of an address does not change. */
  function remember(target: string, match: Match): void {
    if (target.length > MAX_REMEMBERED_LENGTH) return;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(target, match);
  }

  function find(method: string, target: string): Match {
    const { path, query } = splitTarget(target);
    if (barePrefixes.has(path)) {
      return matchMethod(BARE_PREFIX, method, { path, query, prefix: path }, NO_PARAMS);
    }
    const folder = folderOf(path);
    if (folder === null) return matchNothing('unknown', 'public', { path, query, prefix: '' });
    const at = { path, query, prefix: folder.slice(0, -1) };
    const segments = decodeSegments(path.slice(folder.length));
    if (!isDecoded(segments)) return matchNothing('malformed', roleOfArea(segments[0]), at);
    for (const place of placesFor(segments)) {
      const params = matchPlace(place, segments);
      if (params) return matchMethod(place, method, at, params);
    }
    return matchNothing('unknown', roleOfArea(segments[0]), at);
  }

  function folderOf(path: string): string | null {
    for (const folder of folders) if (path.startsWith(folder)) return folder;
    return null;
  }
}

const MAX_REMEMBERED = 10_000;
/** Characters. */
const MAX_REMEMBERED_LENGTH = 256;

/** RFC 9112, 3.2.2: a server must also accept the absolute form, `GET http://host/path`. */
const AUTHORITY = /^https?:\/\/[^/?#]*/i;

function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const local = target.startsWith('/') ? target : target.replace(AUTHORITY, '');
  const mark = local.indexOf('?');
  return mark < 0 ? { path: local, query: '' } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** The route. Throws the reason if there is none. */
export function routeOf({ kind, route, allow }: Match): Route {
  if (kind === 'found' && route) return route;
  if (kind === 'method-not-allowed') {
    throw new HttpProblem('method-not-allowed', `This path answers only ${allow}.`, ['Allow', allow]);
  }
  if (kind === 'malformed') {
    throw new HttpProblem('path-malformed', 'The path is not valid percent-encoded UTF-8.');
  }
  throw new HttpProblem('path-unknown', 'There is nothing at this path.');
}

function matchNothing(kind: 'unknown' | 'malformed', role: RouteRole, at: Omit<Target, 'params'>): Match {
  const { path, query, prefix } = at;
  return { kind, path, query, prefix, params: NO_PARAMS, role, route: null, allow: '' };
}

function isDecoded(segments: readonly (string | null)[]): segments is readonly string[] {
  return !segments.includes(null);
}

function matchMethod(place: Place, method: string, at: Omit<Target, 'params'>, params: PathParams): Match {
  const { routes, role, allow } = place;
  // Copied by name: a spread into so large an object takes Node.js 20 some microseconds.
  const { path, query, prefix } = at;
  const route = routes.get(method === 'HEAD' ? 'GET' : method);
  if (route) return { kind: 'found', path, query, prefix, params, role: route.role, route, allow };
  const [other = null] = routes.values();
  return { kind: 'method-not-allowed', path, query, prefix, params, role, route: other, allow };
}

function matchPlace(place: Place, segments: readonly string[]): PathParams | null {
  let params: Record<string, string> | null = null;
  for (let i = 0; i < segments.length; i++) {
    const pattern = place.segments[i];
    const segment = segments[i];
    if (!pattern || segment === undefined) return null;
    if (pattern.name === null) {
      if (segment !== pattern.before) return null;
      continue;
    }
    if (!matchesAround(pattern, segment)) return null;
    params ??= {};
    params[pattern.name] = segment.slice(pattern.before.length, segment.length - pattern.after.length);
  }
  return params ?? NO_PARAMS;
}

const NO_PARAMS: PathParams = Object.freeze({});

function matchesAround({ before, after }: SegmentPattern, segment: string): boolean {
  return (
    segment.length > before.length + after.length && segment.startsWith(before) && segment.endsWith(after)
  );
}

/** The places that a path may lead to, by its number of segments and the first of them, in the order of the table. */
function createPlaceIndex(routes: readonly Route[]): (segments: readonly string[]) => readonly Place[] {
  const byPath = groupBy(routes, (route) => route.path);
  const places = Array.from(byPath, ([path, group]) => routePlace(path, group));
  const byCount = groupBy(places, (place) => place.segments.length);
  const indexes = new Map(Array.from(byCount, ([count, group]) => [count, indexByFirst(group)]));
  return (segments) => {
    const index = indexes.get(segments.length);
    return index?.named.get(segments[0] ?? '') ?? index?.others ?? NO_PLACES;
  };
}

const NO_PLACES: readonly Place[] = [];

/** `others`: routes whose first segment is a parameter. */
function indexByFirst(places: readonly Place[]) {
  const textOf = ({ segments: [first] }: Place) => (first?.name === null ? first.before : null);
  const texts = new Set(places.map(textOf).filter((text) => text !== null));
  const fitting = (text: string) => places.filter((place) => (textOf(place) ?? text) === text);
  return {
    named: new Map(Array.from(texts, (text) => [text, fitting(text)])),
    others: places.filter((place) => textOf(place) === null),
  };
}

function groupBy<Key, Item>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) getOrCreate(groups, keyOf(item), () => []).push(item);
  return groups;
}

function routePlace(path: string, group: readonly Route[]): Place {
  const methods = METHODS.filter((method) => group.some((route) => route.method === method));
  return {
    segments: path.slice(1).split('/').map(segmentPatternOf),
    routes: new Map(group.map((route) => [route.method, route])),
    allow: methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '),
    role: group.some((route) => route.role === 'public') ? roleOfArea(path.split('/')[1]) : 'viewer',
  };
}

function segmentPatternOf(text: string): SegmentPattern {
  const [, before = text, name = null, after = ''] = /^([^{]*)\{(\w+)\}([^{]*)$/.exec(text) ?? [];
  return { before, name, after };
}

function roleOfArea(first: string | null | undefined): RouteRole {
  const area = first?.split('.')[0] ?? '';
  return CLOSED_AREAS.has(area) ? 'viewer' : 'public';
}

/** Null: a segment is not valid percent-encoded UTF-8. */
function decodeSegments(path: string): readonly (string | null)[] {
  if (!path.includes('%')) return path.split('/');
  return path.split('/').map((segment) => decodeUriPart(segment, null));
}
