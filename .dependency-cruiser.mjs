// The doors of the house: who may import whom, types included. docs/architecture.md shows the same table.
import { existsSync, readdirSync } from 'node:fs';

const DOORS = {
  lib: [],
  domain: ['lib'],
  db: ['lib'],
  raster: ['domain', 'lib'],
  storage: ['domain', 'db', 'lib'],
  sources: ['domain', 'lib'],
  catalog: ['domain', 'storage', 'sources', 'db', 'lib'],
  pipeline: ['domain', 'catalog', 'storage', 'sources', 'raster', 'lib'],
  removal: ['domain', 'catalog', 'pipeline', 'storage', 'db', 'lib'],
  tasks: ['domain', 'catalog', 'pipeline', 'removal', 'export', 'storage', 'db', 'lib'],
  changes: ['domain', 'catalog', 'removal', 'tasks', 'db', 'lib'],
  quota: ['domain', 'catalog', 'storage', 'db', 'lib'],
  export: ['domain', 'storage', 'lib'],
  access: ['domain', 'db', 'lib'],
  geowebcache: ['domain', 'lib'],
  import: ['domain', 'raster', 'sources', 'geowebcache', 'lib'],
  cluster: ['domain', 'db', 'lib'],
  http: [
    'domain',
    'catalog',
    'pipeline',
    'removal',
    'tasks',
    'changes',
    'quota',
    'access',
    'geowebcache',
    'cluster',
    'lib',
  ],
  config: [
    'domain',
    'storage',
    'sources',
    'catalog',
    'pipeline',
    'tasks',
    'changes',
    'quota',
    'access',
    'geowebcache',
    'http',
    'lib',
  ],
  cli: ['config', 'import', 'lib'],
};

/** Folders of a room with a driver in them. */
const driversIn = (room) =>
  readdirSync(`src/${room}`).filter((name) => existsSync(`src/${room}/${name}/${name}-driver.ts`));

const DRIVERS = { storage: driversIn('storage'), sources: driversIn('sources') };

/** Libraries that live in one place each. */
const HOMES = [
  { library: 'sharp', home: '^src/raster/' },
  { library: 'pg', home: '^src/db/' },
  { library: 'kysely', home: '^src/(db|storage/(objects|index))/' },
  {
    library: 'better-sqlite3',
    home: '^src/((db|storage/index|export)/|sources/sqlite-file\\.ts$)',
  },
  { library: '@aws-sdk', home: '^src/storage/s3/' },
  { library: '@azure', home: '^src/storage/azure/' },
  { library: 'jose', home: '^src/access/' },
  { library: 'openid-client', home: '^src/access/' },
  { library: 'proj4', home: '^src/domain/projection\\.ts$' },
  { library: 'prom-client', home: '^src/http/metrics/' },
  { library: 'undici', home: '^src/(sources|storage/(objects|s3|azure))/' },
  { library: 'pmtiles', home: '^src/(sources/archive|export)/' },
  { library: '@napi-rs/canvas', home: '^src/sources/world/' },
  { library: 'topojson-client', home: '^src/sources/world/' },
];

/** Folders of `src/http`: each may import those before it, and files beside them that are not at the top. */
const HTTP_FOLDERS = ['auth', 'metrics', 'hits', 'services', 'pages', 'api', 'gwc'];
const HTTP_TOP = '^src/http/(http-app|server)\\.ts$';

const TESTS = '\\.test\\.ts$';
const SOURCES = `sources/(${DRIVERS.sources.join('|')})`;

const roomRules = Object.entries(DOORS).map(([room, allowed]) => ({
  name: `doors-of-${room}`,
  comment: `src/${room} may import ${allowed.join(', ') || 'no other room'}.`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: TESTS },
  to: {
    path: '^src/',
    pathNot: `^src/(${[room, ...allowed].join('|')})/${room === 'cli' ? '|^src/app(\\.ts$|/)' : ''}`,
  },
}));

const httpRules = [
  ...HTTP_FOLDERS.map((folder, at) => ({
    name: `doors-of-http-${folder}`,
    comment: `src/http/${folder} imports no folder above it.`,
    severity: 'error',
    from: { path: `^src/http/${folder}/`, pathNot: TESTS },
    to: { path: `^src/http/(${HTTP_FOLDERS.slice(at + 1).join('|') || '$'})/|${HTTP_TOP}` },
  })),
  {
    name: 'hits-behind-an-interface',
    comment: 'All others in src/http know the fast path by hits/hits.ts only.',
    severity: 'error',
    from: { path: '^src/http/', pathNot: `^src/http/hits/|${TESTS}` },
    to: { path: '^src/http/hits/', pathNot: '^src/http/hits/hits\\.ts$' },
  },
  {
    name: 'doors-of-http',
    comment: 'What all folders of src/http use imports only auth of them.',
    severity: 'error',
    from: { path: '^src/http/[^/]+\\.ts$', pathNot: `${HTTP_TOP}|${TESTS}` },
    to: { path: `^src/http/(${HTTP_FOLDERS.slice(1).join('|')})/|${HTTP_TOP}` },
  },
];

const libraryRules = HOMES.map(({ library, home }) => ({
  name: `home-of-${library}`,
  comment: `${library} is used only in ${home}.`,
  severity: 'error',
  from: { path: '^src/', pathNot: `${home}|${TESTS}` },
  to: { path: `^node_modules/(@types/)?${library}/` },
}));

export default {
  forbidden: [
    ...roomRules,
    ...httpRules,
    ...libraryRules,
    {
      name: 'every-file-has-a-room',
      comment: 'A file in src lies in a room of the table, or is app.ts.',
      severity: 'error',
      from: {},
      to: { path: '^src/', pathNot: `^src/(${Object.keys(DOORS).join('|')})/|^src/app((\\.test)?\\.ts$|/)` },
    },
    {
      name: 'stores-are-named-in-drivers',
      comment: 'All others know the contract and the list, not the driver.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/storage/(drivers\\.ts$|${[...DRIVERS.storage, 'objects'].join('|')})|${TESTS}`,
      },
      to: { path: `^src/storage/(${[...DRIVERS.storage, 'objects'].join('|')})/` },
    },
    {
      name: 'sources-are-named-in-drivers',
      comment: 'All others know the contract and the list, not the driver.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/sources/drivers\\.ts$|^src/${SOURCES}/|${TESTS}` },
      to: { path: `^src/${SOURCES}/` },
    },
    ...Object.entries(DRIVERS).map(([room, names]) => ({
      name: `drivers-of-${room}-do-not-know-each-other`,
      severity: 'error',
      from: { path: `^src/${room}/(${names.join('|')})/`, pathNot: TESTS },
      to: { path: `^src/${room}/(${names.join('|')})/`, pathNot: `^src/${room}/$1/` },
    })),
    {
      name: 'packages-know-no-room',
      comment: 'They could be published as they are.',
      severity: 'error',
      from: { path: '^packages/', pathNot: TESTS },
      to: { path: '^(src|test|bench|web)/' },
    },
    {
      name: 'pixels-are-worked-on-in-raster',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/raster/|${TESTS}` },
      to: { path: '^packages/' },
    },
    {
      name: 'no-room-imports-cli',
      severity: 'error',
      from: { pathNot: '^src/cli/' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'app-is-imported-by-cli-only',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(cli|app)/|^src/app\\.ts$|${TESTS}` },
      to: { path: '^src/app(\\.ts$|/)' },
    },
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-tests-in-the-house',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTS },
      to: { path: `^(test|bench|web)/|${TESTS}` },
    },
    {
      name: 'no-development-packages-in-the-house',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'imports-lead-somewhere', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
};
