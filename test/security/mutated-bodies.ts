import fc from 'fast-check';
import { z } from 'zod';
import type { ApiRoute } from '../../src/http/api/api-route.ts';
import { API_ROUTES, type ApiBody, type ApiRequest } from '../../src/http/api/api-routes.ts';
import { addressOf } from './every-route.ts';

type Ask = (method: string, path: string, body?: string) => Promise<{ status: number; text: string }>;

export interface BodyRoute {
  readonly method: string;
  readonly path: string;
  /** As the table of routes has it. */
  readonly route: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Fields whose absence has a meaning of its own, by their path; leaving them out is no slip. */
  readonly mayBeAbsent: readonly string[];
  /** The body selects no existing tile, and the response has the count. */
  readonly selectsNothing?: boolean;
  /** Reverts the effect of a mutated body that is still valid. */
  readonly undo?: (ask: Ask) => Promise<void>;
}

/** Facts about a body besides its schema. */
interface Example<Body> {
  readonly body: Body;
  /** If the address is not that of layer `a`. */
  readonly path?: string;
  /** If the schema does not define it. */
  readonly mayBeAbsent?: readonly string[];
  readonly selectsNothing?: boolean;
  readonly undo?: (ask: Ask) => Promise<void>;
}

/** Their bodies change nothing that is compared; a slip in the body of a webhook is a wrong signature. */
type Untried =
  | 'POST /api/v1/session'
  | 'PUT /api/v1/me/password'
  | 'POST /api/v1/import'
  | 'POST /api/v1/changes/{name}';
type Tried = Exclude<
  { [Request in ApiRequest]: [ApiBody<Request>] extends [never] ? never : Request }[ApiRequest],
  Untried
>;

const bounds: [number, number, number, number] = [90, 45, 170, 80];
const selection: ApiBody<'POST /api/v1/layers/{layer}/truncate'> = {
  gridSets: ['EPSG:4326'],
  formats: ['image/png'],
  parameters: { STYLES: 'dark' },
  zoomStart: 3,
  zoomStop: 3,
  area: {
    type: 'Polygon',
    coordinates: [
      [
        [90, 45],
        [170, 45],
        [170, 80],
        [90, 45],
      ],
    ],
  },
  areaCrs: 'grid-set',
};
const { area: _, areaCrs: __, ...unplaced } = selection;
const part = { zoomStart: 3, zoomStop: 3, bounds, gridSet: 'EPSG:4326' };
export const TASK = {
  layer: 'a',
  type: 'truncate' as const,
  format: 'image/png',
  parameters: { STYLES: 'dark' },
  ...part,
  threadCount: 1,
  priority: 1,
};
const SCHEDULE = { ...TASK, name: 'nightly', cron: '0 3 * * *', hours: '22:00-06:00', enabled: false };
export const KEPT_SCHEDULE = { ...SCHEDULE, name: 'kept' };
const USER = { name: 'mary', password: 'a long enough sentence', role: 'operator' as const, layers: ['a'] };
export const KEPT_USER = { ...USER, name: 'kept' };
const quota: ApiBody<'PUT /api/v1/quota'> = {
  enabled: false,
  globalQuota: { value: 500, units: 'MiB' },
  globalExpirationPolicyName: 'LFU',
  cacheCleanUpFrequency: 10,
  layerQuotas: [],
};

const undeclared = async (ask: Ask) => {
  for (const path of ['/api/v1/layers/declared', '/api/v1/gridsets/declared']) await ask('DELETE', path);
};
const layer = {
  body: {
    name: 'declared',
    source: { type: 'layer', layer: 'a' },
    formats: ['image/png'],
    gridSets: [{ name: 'EPSG:4326', zoomStop: 3 }],
    metatile: [2, 2],
    parameters: [{ name: 'SEASON', default: 'dry', values: ['dry', 'wet'] }],
  },
  mayBeAbsent: [
    ...['name', 'formats', 'gridSets', 'gridSets.0.zoomStop', 'metatile', 'parameters'],
    'parameters.0.default',
  ],
  undo: undeclared,
};
const gridSet = {
  body: { name: 'declared', srs: 3857, extent: [0, 0, 1000, 1000], levels: 3, tileSize: 256 },
  mayBeAbsent: ['name', 'tileSize'],
  undo: undeclared,
};

/** Removes all entries of a list except those to keep, by id or name. */
function emptied(path: string, list: string, id: string): (ask: Ask) => Promise<void> {
  return async (ask) => {
    const things = JSON.parse((await ask('GET', path)).text)[list] as Record<string, unknown>[];
    for (const thing of things.filter(
      (one) => one[id] !== null && one.name !== 'kept' && one.name !== 'admin',
    )) {
      await ask('DELETE', `${path}/${thing[id]}`);
    }
  };
}

/** A seed instead of a truncate fills its range; it is stopped, and its tiles are removed. */
const stopped = async (ask: Ask) => {
  const { tasks } = JSON.parse((await ask('GET', '/api/v1/tasks?state=pending,running,paused')).text);
  for (const { id, type } of tasks as { id: number; type: string }[]) {
    if (type !== 'truncate') await ask('POST', `/api/v1/tasks/${id}/cancel`);
  }
};

/** A valid body for each request with one: the type also requires those of new routes. */
const EXAMPLES: { readonly [Request in Tried]: Example<ApiBody<Request>> } = {
  'POST /api/v1/layers/{layer}/truncate': { body: selection, selectsNothing: true },
  'POST /api/v1/layers/{layer}/invalidate': {
    body: { ...unplaced, tiles: ['3/7/1'], renew: false },
    selectsNothing: true,
  },
  'POST /api/v1/tasks': { body: TASK, undo: stopped },
  'POST /api/v1/tile-addresses': { body: { addresses: ['/tiles/a/EPSG:4326/3/7/1.png'] } },
  'POST /api/v1/tasks/stop': { body: { layer: 'a', type: 'seed', state: ['paused'] } },
  'POST /api/v1/schedules': { body: SCHEDULE, undo: emptied('/api/v1/schedules', 'schedules', 'id') },
  'PUT /api/v1/schedules/{id}': { body: KEPT_SCHEDULE },
  'POST /api/v1/layers': layer,
  'PUT /api/v1/layers/{layer}': { ...layer, path: '/api/v1/layers/declared' },
  'POST /api/v1/gridsets': gridSet,
  'PUT /api/v1/gridsets/{gridSet}': { ...gridSet, path: '/api/v1/gridsets/declared' },
  'POST /api/v1/exports': {
    body: { layer: 'a', type: 'mbtiles', format: 'image/png', parameters: { STYLES: 'dark' }, ...part },
    undo: emptied('/api/v1/exports', 'exports', 'id'),
  },
  'PUT /api/v1/quota': { body: quota },
  'POST /api/v1/users': { body: USER, undo: emptied('/api/v1/users', 'users', 'name') },
  'PUT /api/v1/users/{name}': { body: { role: 'operator', layers: ['a'] }, path: '/api/v1/users/kept' },
  'POST /api/v1/tokens': {
    body: { name: 'ci', role: 'viewer', layers: ['a'], expiresAt: '2199-01-01T00:00:00Z' },
    undo: emptied('/api/v1/tokens', 'tokens', 'id'),
  },
  'POST /api/v1/keys': {
    body: { name: 'portal', layers: ['a'], origins: ['https://maps.example'], requestsPerDay: 100 },
    undo: emptied('/api/v1/keys', 'keys', 'id'),
  },
};

export const JSON_BODIES: readonly BodyRoute[] = API_ROUTES.flatMap(({ name, shape }: ApiRoute) => {
  const example = Object.entries<Example<unknown>>(EXAMPLES).find(([request]) => request === name)?.[1];
  if (!example || !shape.body) return [];
  const [method = '', route = ''] = name.split(' ');
  const schema = z.toJSONSchema(shape.body, { io: 'input', unrepresentable: 'any' });
  const body = example.body as BodyRoute['body'];
  const mayBeAbsent = optionalIn(body, schema, []);
  return [{ method, route, path: addressOf(route, 'a'), mayBeAbsent, ...example, body }];
});

/** Fields of a body that its schema does not require, by their path. */
function optionalIn(value: unknown, schema: z.core.JSONSchema.BaseSchema, path: Path): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const forms = schema.anyOf ?? schema.oneOf ?? [schema];
  const fits = ({ properties }: (typeof forms)[number]) =>
    !properties || Object.keys(value).every((key) => key in properties);
  return forms.filter(fits).flatMap(({ properties = {}, required = [], items }) =>
    Object.entries(value).flatMap(([key, item]) => {
      const here = [...path, key];
      const inner = Array.isArray(value) ? items : properties[key];
      const own = Array.isArray(value) || required.includes(key) ? [] : [here.join('.')];
      return [...own, ...optionalIn(item, isSchema(inner) ? inner : {}, here)];
    }),
  );
}

function isSchema(value: unknown): value is z.core.JSONSchema.BaseSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const seedRequest = {
  gridSetId: 'EPSG:4326',
  type: 'truncate',
  format: 'image/png',
  zoomStart: 3,
  zoomStop: 3,
  bounds: { coords: { double: bounds } },
  parameters: { entry: [{ string: ['STYLES', 'dark'] }] },
};
const ofSeed = ['gridSetId', 'type', 'format', 'zoomStart', 'zoomStop', 'bounds', 'parameters'].map(
  (name) => `seedRequest.${name}`,
);
const massTruncation = (
  body: Readonly<Record<string, unknown>>,
  mayBeAbsent: readonly string[] = [],
): BodyRoute => ({
  method: 'POST',
  path: '/masstruncate',
  route: '/masstruncate',
  body,
  mayBeAbsent,
});

/** Parsed leniently: unknown elements are stored. In any case nothing else changes. */
const RESOURCES: readonly (readonly [path: string, body: Readonly<Record<string, unknown>>])[] = [
  [
    '/rest/layers/{layer}',
    {
      wmsLayer: {
        name: 'declared',
        mimeFormats: { string: ['image/png'] },
        gridSubsets: { gridSubset: [{ gridSetName: 'EPSG:4326', zoomStart: 0, zoomStop: 3 }] },
        wmsUrl: { string: ['http://maps.test/wms'] },
        wmsLayers: 'a',
      },
    },
  ],
  [
    '/rest/gridsets/{gridSet}',
    {
      gridSet: {
        name: 'declared',
        srs: { number: 3857 },
        extent: { coords: { double: [0, 0, 1000, 1000] } },
        resolutions: { double: [4, 2, 1] },
        tileWidth: 256,
        tileHeight: 256,
      },
    },
  ],
  ['/rest/global', { global: { serviceInformation: { title: 'Tiles', description: 'Of maps' } } }],
];

export const REST_BODIES: readonly BodyRoute[] = [
  ...RESOURCES.flatMap(([resource, body]) =>
    ['json', 'xml'].map((format) => ({
      method: 'PUT',
      route: `${resource}.${format}`,
      path: `${resource.replace(/\{\w+\}/, 'declared')}.${format}`,
      undo: undeclared,
      body,
      mayBeAbsent: pathsIn(body, []).map((path) => path.join('.')),
    })),
  ),
  ...['json', 'xml'].map((format) => ({
    method: 'POST',
    path: `/rest/seed/a.${format}`,
    route: `/rest/seed/{layer}.${format}`,
    body: { seedRequest },
    mayBeAbsent: ofSeed,
    undo: stopped,
  })),
  massTruncation(
    { truncateParameters: { layerName: 'a', parameters: { entry: [{ string: ['STYLES', 'other'] }] } } },
    ['truncateParameters.parameters'],
  ),
  massTruncation({
    truncateExtent: {
      layerName: 'a',
      gridSetId: 'EPSG:4326',
      bounds: { coords: { double: [10, -40, 11, -39] } },
    },
  }),
  ...['json', 'xml'].map((format) => ({
    method: 'PUT',
    path: `/diskquota.${format}`,
    route: `/diskquota.${format}`,
    body: { tileQuotaConfiguration: quota },
    mayBeAbsent: Object.keys(quota).map((name) => `tileQuotaConfiguration.${name}`),
  })),
];

type Path = readonly (string | number)[];

/** One slip: a field left out, misspelt, null, emptied, or of another kind. */
export function mutations({ body, mayBeAbsent }: BodyRoute): fc.Arbitrary<unknown> {
  const plain = JSON.parse(JSON.stringify(body)) as unknown;
  // An empty seed request is a seed, which removes nothing.
  const paths = pathsIn(plain, []).filter((path) => path.join('.') !== 'seedRequest');
  const slips = paths.flatMap((path) => {
    const dropped = mayBeAbsent.includes(path.join('.')) ? [] : [dropAt(plain, path)];
    const values = [null, '', [], {}, 'abc', 7.5, true, [[]], [null]];
    const others = values.filter(
      (value) =>
        typeof value !== typeof valueAt(plain, path) ||
        value === '' ||
        Array.isArray(value) ||
        value === null,
    );
    return [...dropped, ...misspelt(plain, path), ...others.map((value) => replaceAt(plain, path, value))];
  });
  return fc.constantFrom(...slips);
}

function pathsIn(value: unknown, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const here = [...path, Array.isArray(value) ? Number(key) : key];
    return [here, ...pathsIn(item, here)];
  });
}

function valueAt(tree: unknown, path: Path): unknown {
  return path.reduce((value, step) => (value as Record<string | number, unknown>)[step], tree);
}

function replaceAt(tree: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  const inner = replaceAt((tree as Record<string | number, unknown>)[step], rest, value);
  if (Array.isArray(tree)) return tree.map((item, index) => (index === step ? inner : item));
  return { ...(tree as object), [step]: inner };
}

function dropAt(tree: unknown, path: Path): unknown {
  const parent = valueAt(tree, path.slice(0, -1));
  const left = Array.isArray(parent)
    ? parent.filter((_, index) => index !== path.at(-1))
    : Object.fromEntries(Object.entries(parent as object).filter(([key]) => key !== path.at(-1)));
  return replaceAt(tree, path.slice(0, -1), left);
}

function misspelt(tree: unknown, path: Path): unknown[] {
  const key = path.at(-1);
  // A request without a type is a seed, which removes nothing.
  if (typeof key !== 'string' || path.join('.') === 'seedRequest.type') return [];
  const without = dropAt(tree, path);
  return [key.toLowerCase(), `${key}s`, key.slice(0, -1), key.slice(1)]
    .filter((name) => name !== key && name !== '')
    .map((name) => replaceAt(without, [...path.slice(0, -1), name], valueAt(tree, path)));
}

export function xmlOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(xmlOf).join('');
  if (typeof value !== 'object' || value === null) return value === null ? '' : String(value);
  return Object.entries(value)
    .map(([name, item]) =>
      (Array.isArray(item) && item.length > 0 ? item : [item])
        .map((one) => `<${name}>${xmlOf(one)}</${name}>`)
        .join(''),
    )
    .join('');
}
