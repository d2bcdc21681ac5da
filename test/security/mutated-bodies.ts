import fc from 'fast-check';

type Ask = (method: string, path: string, body?: string) => Promise<{ status: number; text: string }>;

export interface BodyRoute {
  readonly method: string;
  readonly path: string;
  /** As the table of routes has it. */
  readonly route: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Fields whose absence has a meaning of its own, by their path; leaving them out is no slip. */
  readonly mayBeAbsent: readonly string[];
  /** What the body selects is not there, and the answer counts it. */
  readonly selectsNothing?: boolean;
  /** Takes back what a body that is still good has made. */
  readonly undo?: (ask: Ask) => Promise<void>;
}

const bounds = [90, 45, 170, 80];
const area = {
  type: 'Polygon',
  coordinates: [
    [
      [90, 45],
      [170, 45],
      [170, 80],
      [90, 45],
    ],
  ],
};
const selection = {
  gridSets: ['EPSG:4326'],
  formats: ['image/png'],
  parameters: { STYLES: 'dark' },
  zoomStart: 3,
  zoomStop: 3,
  area,
  areaCrs: 'grid-set',
};
export const TASK = {
  layer: 'a',
  type: 'truncate',
  gridSet: 'EPSG:4326',
  format: 'image/png',
  parameters: { STYLES: 'dark' },
  zoomStart: 3,
  zoomStop: 3,
  bounds,
  threadCount: 1,
  priority: 1,
};
const narrowing = [
  'gridSets',
  'formats',
  'parameters',
  'parameters.STYLES',
  'zoomStart',
  'zoomStop',
  'area',
  'bounds',
  'areaCrs',
];
const ofTask = [...narrowing, 'type', 'gridSet', 'format', 'threadCount', 'priority'];
const USER = { name: 'mary', password: 'a long enough sentence', role: 'operator', layers: ['a'] };
const quota = {
  enabled: false,
  globalQuota: { value: 500, units: 'MiB' },
  globalExpirationPolicyName: 'LFU',
  cacheCleanUpFrequency: 10,
  layerQuotas: [],
};

const DECLARED = {
  name: 'declared',
  source: { type: 'layer', layer: 'a' },
  formats: ['image/png'],
  gridSets: [{ name: 'EPSG:4326', zoomStop: 3 }],
  metatile: [2, 2],
  parameters: [{ name: 'SEASON', default: 'dry', values: ['dry', 'wet'] }],
};
const GRID_SET = { name: 'declared', srs: 3857, extent: [0, 0, 1000, 1000], levels: 3, tileSize: 256 };

const undeclared = async (ask: Ask) => {
  for (const path of ['/api/v1/layers/declared', '/api/v1/gridsets/declared']) await ask('DELETE', path);
};

const SCHEDULE = { ...TASK, name: 'nightly', cron: '0 3 * * *', hours: '22:00-06:00', enabled: false };
export const KEPT_SCHEDULE = { ...SCHEDULE, name: 'kept' };
export const KEPT_USER = { ...USER, name: 'kept' };

/** Removes every thing of a list that is not to be kept, by its id or name. */
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

/** A seed in place of a truncate fills what it was given; it is stopped and what it made removed. */
const stopped = async (ask: Ask) => {
  const { tasks } = JSON.parse((await ask('GET', '/api/v1/tasks?state=pending,running,paused')).text);
  for (const { id, type } of tasks as { id: number; type: string }[]) {
    if (type !== 'truncate') await ask('POST', `/api/v1/tasks/${id}/cancel`);
  }
};

function declaring(name: string) {
  const [method = '', route = ''] = name.split(' ');
  return { method, route, path: route.replace(/\{\w+\}/, 'declared'), undo: undeclared };
}

export const JSON_BODIES: readonly BodyRoute[] = [
  {
    method: 'POST',
    path: '/api/v1/layers/a/truncate',
    route: '/api/v1/layers/{layer}/truncate',
    body: selection,
    mayBeAbsent: narrowing,
    selectsNothing: true,
  },
  {
    method: 'POST',
    path: '/api/v1/layers/a/invalidate',
    route: '/api/v1/layers/{layer}/invalidate',
    body: { ...selection, area: undefined, areaCrs: undefined, tiles: ['3/7/1'], renew: false },
    mayBeAbsent: [...narrowing, 'tiles', 'renew'],
    selectsNothing: true,
  },
  {
    method: 'POST',
    path: '/api/v1/tasks',
    route: '/api/v1/tasks',
    body: TASK,
    mayBeAbsent: ofTask,
    undo: stopped,
  },
  {
    method: 'POST',
    path: '/api/v1/tile-addresses',
    route: '/api/v1/tile-addresses',
    body: { addresses: ['/tiles/a/EPSG:4326/3/7/1.png'] },
    mayBeAbsent: [],
  },
  {
    method: 'POST',
    path: '/api/v1/tasks/stop',
    route: '/api/v1/tasks/stop',
    body: { layer: 'a', type: 'seed', state: ['paused'] },
    mayBeAbsent: ['layer', 'type', 'state'],
  },
  {
    method: 'POST',
    path: '/api/v1/schedules',
    route: '/api/v1/schedules',
    body: SCHEDULE,
    mayBeAbsent: [...ofTask, 'hours', 'enabled'],
    undo: emptied('/api/v1/schedules', 'schedules', 'id'),
  },
  {
    method: 'POST',
    path: '/api/v1/layers/a/blank-areas',
    route: '/api/v1/layers/{layer}/blank-areas',
    body: { gridSet: 'EPSG:4326', zoomStart: 3, zoomStop: 3, bounds, note: 'sea' },
    mayBeAbsent: [...narrowing, 'gridSet', 'note'],
    undo: emptied('/api/v1/layers/a/blank-areas', 'areas', 'id'),
  },
  ...['POST /api/v1/layers', 'PUT /api/v1/layers/{layer}'].map((route) => ({
    ...declaring(route),
    body: DECLARED,
    mayBeAbsent: [
      ...['name', 'formats', 'gridSets', 'gridSets.0.zoomStop', 'metatile', 'parameters'],
      'parameters.0.default',
    ],
  })),
  ...['POST /api/v1/gridsets', 'PUT /api/v1/gridsets/{gridSet}'].map((route) => ({
    ...declaring(route),
    body: GRID_SET,
    mayBeAbsent: ['name', 'tileSize'],
  })),
  {
    method: 'POST',
    path: '/api/v1/exports',
    route: '/api/v1/exports',
    body: {
      layer: 'a',
      type: 'mbtiles',
      gridSet: 'EPSG:4326',
      format: 'image/png',
      parameters: { STYLES: 'dark' },
      zoomStart: 3,
      zoomStop: 3,
      bounds,
    },
    mayBeAbsent: [...narrowing, 'gridSet', 'format'],
    undo: emptied('/api/v1/exports', 'exports', 'id'),
  },
  {
    method: 'PUT',
    path: '/api/v1/quota',
    route: '/api/v1/quota',
    body: quota,
    mayBeAbsent: Object.keys(quota),
  },
  {
    method: 'POST',
    path: '/api/v1/users',
    route: '/api/v1/users',
    body: USER,
    mayBeAbsent: ['layers'],
    undo: emptied('/api/v1/users', 'users', 'name'),
  },
  {
    method: 'PUT',
    path: '/api/v1/schedules/1',
    route: '/api/v1/schedules/{id}',
    body: KEPT_SCHEDULE,
    mayBeAbsent: [...ofTask, 'hours', 'enabled'],
  },
  {
    method: 'PUT',
    path: '/api/v1/users/kept',
    route: '/api/v1/users/{name}',
    body: { role: 'operator', layers: ['a'] },
    mayBeAbsent: ['role', 'layers'],
  },
  {
    method: 'POST',
    path: '/api/v1/tokens',
    route: '/api/v1/tokens',
    body: { name: 'ci', role: 'viewer', layers: ['a'], expiresAt: '2199-01-01T00:00:00Z' },
    mayBeAbsent: ['layers', 'expiresAt'],
    undo: emptied('/api/v1/tokens', 'tokens', 'id'),
  },
  {
    method: 'POST',
    path: '/api/v1/keys',
    route: '/api/v1/keys',
    body: { name: 'portal', layers: ['a'], origins: ['https://maps.example'], requestsPerDay: 100 },
    mayBeAbsent: ['origins', 'requestsPerDay'],
    undo: emptied('/api/v1/keys', 'keys', 'id'),
  },
];

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

/** Read leniently: what is not known is kept aside. Whatever becomes of it, nothing else changes. */
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
      ...declaring(`PUT ${resource}.${format}`),
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
