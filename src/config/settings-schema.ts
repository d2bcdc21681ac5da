import { z } from 'zod';
import {
  createLayerSchema,
  extentSchema,
  type LayerDeclaration,
  nameSchema,
} from '../catalog/layer-declaration.ts';
import { changeFeedOptions } from '../changes/change-options.ts';
import { type GridSetRegistry, MAX_LEVELS, MAX_TILE_SIZE } from '../domain/grid-set.ts';
import type { LayerGroups } from '../domain/layer.ts';
import type { NamedArea } from '../domain/named-area.ts';
import { COMPATIBLE_PROGRAMS, type ServiceDescription } from '../domain/service-description.ts';
import { KEY_HEADERS } from '../domain/surrogate-keys.ts';
import { scheduleBody } from '../http/api/schedules.ts';
import { trimEndOf } from '../lib/scan-text.ts';
import { flag, sizeSchema, text, texts, whole } from '../lib/schemas.ts';
import { SOURCE_DRIVERS, type SourceSchemas, type SourceSettings } from '../sources/drivers.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';
import { upstreamOptions } from '../sources/upstream/upstream-options.ts';
import { BUCKET_OPTIONS, STORE_DRIVERS, type StoreSchemas } from '../storage/drivers.ts';
import { SCHEDULED_WORK, type ScheduleDeclaration } from '../tasks/schedules/schedule.ts';
import { followSchema, notifySchema, purgeSchema } from './change-schemas.ts';
import { serviceSchema } from './service-schema.ts';

// Each driver owns its options; here they become one choice by `type`.
const storeSchema = z.discriminatedUnion(
  'type',
  STORE_DRIVERS.map(({ options }) => options) as unknown as StoreSchemas,
);
export const sourceSchema = z.discriminatedUnion(
  'type',
  SOURCE_DRIVERS.map(({ options }) => options) as unknown as SourceSchemas,
);

/** The body of `POST /api/v1/schedules` without layer, polygons (drawn in the console) and GeoWebCache's retries. */
const scheduleSchema = scheduleBody
  .omit({
    layer: true,
    area: true,
    areaCrs: true,
    tileFailureRetryCount: true,
    tileFailureRetryWaitTime: true,
    totalFailuresBeforeAborting: true,
  })
  .extend({ type: z.enum(SCHEDULED_WORK).describe('What to do') });

const layerSchema = createLayerSchema(sourceSchema, scheduleSchema);

const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::[1-9]\d{0,4})?$/;
const upstreamHost = z
  .string()
  .regex(HOST, 'must be a host in lower case, or host and port: maps.example.org or maps.example.org:8080');

const LAST_ZOOM = 12;

/** Served when no layer is declared: a map that needs nothing but the package. */
const WORLD_LAYER: z.input<typeof layerSchema> = {
  name: 'world',
  title: 'The world',
  description: 'Land, seas and borders, drawn from Natural Earth data',
  attribution: 'Made with Natural Earth',
  source: { type: 'world' },
  formats: ['image/png', 'image/jpeg', 'image/webp'],
  gridSets: [
    { name: 'EPSG:900913', zoomStart: 0, zoomStop: LAST_ZOOM },
    { name: 'EPSG:4326', zoomStart: 0, zoomStop: LAST_ZOOM },
  ],
  parameters: [{ name: 'STYLES', default: 'light', values: ['light', 'dark', 'outline'] }],
  expireClients: 3600,
  fullWMS: true,
  retina: true,
};

const prefixSchema = z.string().regex(/^(\/[A-Za-z0-9._~-]+)*$/, {
  error: "must be '' or a path such as /geowebcache, without a slash at its end",
});

/** No user, query or fragment; only characters that need no escape in documents. */
const PUBLIC_URL = /^https?:\/\/[\w.:[\]-]+(\/[\w.~-]*)*$/;

const serverSchema = z.strictObject({
  host: text.default('127.0.0.1').describe('Address to listen on'),
  port: whole(0, 65535).default(8080).describe('Port to listen on; 0 picks a free one'),
  processes: z
    .union([whole(1, 256), z.string()])
    .refine((count) => typeof count === 'number' || count === 'auto', {
      error: 'must be a number from 1 to 256, or auto',
    })
    .default(1)
    .describe('Processes that answer HTTP on the one port; auto: one for each processor core, at most 4'),
  prefixes: z
    .array(prefixSchema)
    .min(1)
    .default(['', '/geowebcache', '/geoserver/gwc'])
    .describe('Paths below which everything is offered'),
  compatibility: z
    .array(z.enum(COMPATIBLE_PROGRAMS))
    .default([])
    .describe('Programs whose tile addresses are answered too'),
  trustedProxies: texts.default([]).describe('Proxies whose X-Forwarded-* headers are trusted'),
  publicUrl: z
    .string()
    .regex(PUBLIC_URL, 'must be an address such as https://maps.example.org, with a path but without a query')
    .refine((url) => URL.canParse(url), 'must be an address such as https://maps.example.org')
    .transform((url) => trimEndOf(url, /\//))
    .nullable()
    .default(null)
    .describe('Address of this server for clients; null: the one that each request names'),
  tls: z
    .strictObject({
      certificate: text.describe('PEM file with the certificate chain'),
      key: text.describe('PEM file with the private key'),
    })
    .nullable()
    .default(null)
    .describe('Serve https; both files are read again on SIGHUP'),
  surrogateKeys: z
    .enum(KEY_HEADERS)
    .nullable()
    .default(null)
    .describe('Header with the keys by which a CDN purges tiles; null: none'),
  accessLog: z
    .strictObject({
      file: text.nullable().default(null).describe('File to append to; null: no access log'),
      format: z.enum(['combined', 'json']).default('combined').describe('Form of its lines'),
    })
    .prefault({})
    .describe('A line for every request that was answered'),
});

const rolesSchema = () =>
  z
    .record(text, z.enum(['viewer', 'operator', 'admin']))
    .refine((roles) => Object.keys(roles).length > 0, 'must map at least one group to a role')
    .describe('Roles of groups; a caller in none of them is refused');

const LOOPBACK_ISSUER = /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$)/;

const oidcSchema = z.strictObject({
  issuer: z
    .string()
    .refine((url) => URL.canParse(url) && (url.startsWith('https://') || LOOPBACK_ISSUER.test(url)), {
      error: 'must be an https address; http is allowed on this machine only',
    })
    .describe('Address of the issuer, without /.well-known/openid-configuration'),
  clientId: text.describe('Name of this server at the issuer'),
  clientSecret: text.describe('Secret of this server at the issuer'),
  scopes: texts.default(['openid', 'profile']).describe('Scopes to request'),
  audience: text.nullable().default(null).describe('Audience of bearer tokens; null: clientId'),
  roleClaim: text.default('groups').describe('Claim that names groups, or a path such as realm_access.roles'),
  roles: rolesSchema(),
  layersClaim: text.nullable().default(null).describe('Claim that lists layers; null: all layers'),
});

const headerName = z.string().regex(/^[A-Za-z0-9-]+$/, { error: 'must be the name of a header' });

const proxyLoginSchema = z.strictObject({
  user: headerName.describe('Header with the name of the user'),
  groups: headerName.describe('Header with the groups of the user, separated by commas'),
  roles: rolesSchema(),
});

const tasksSchema = z.strictObject({
  workers: whole(0, 64)
    .nullable()
    .default(null)
    .describe('Processes that do tasks; null: one for each processor core; 0: this server performs none'),
  maxThreads: whole(1, 1024)
    .nullable()
    .default(null)
    .describe('Metatiles in flight over all tasks; null: four for each processor core, at least 8'),
  maxThreadCount: whole(1, 1024).default(64).describe('What the threadCount of a request is reduced to'),
  maxUnfinished: whole(1, 100_000).default(1000).describe('Tasks that may wait or run at the same time'),
  keepDays: z.number().positive().default(30).describe('How long finished tasks are remembered'),
  keepFinished: whole(0, 100_000).default(10_000).describe('How many finished tasks are remembered'),
});

/** Keys that define the levels of a grid set. */
const LADDERS = ['resolutions', 'scaleDenominators', 'levels'];
const pixelsSchema = whole(1, MAX_TILE_SIZE);
const ladderSchema = z.array(z.number().positive()).min(1).max(MAX_LEVELS);

const gridSetSchema = z
  .strictObject({
    name: z.string().min(1).max(200),
    description: z.string().default(''),
    srs: z.int().positive().describe('EPSG code, e.g. 2154'),
    projection: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('PROJ definition of the CRS, e.g. +proj=utm +zone=32 +ellps=GRS80; common codes need none'),
    extent: extentSchema,
    resolutions: ladderSchema.optional().describe('CRS units per pixel, falling'),
    scaleDenominators: ladderSchema.optional().describe('Scale denominators, falling'),
    levels: whole(1, MAX_LEVELS).optional().describe('A number of levels, each halving the resolution'),
    levelNames: texts.optional().describe('Identifiers of the levels towards clients'),
    tileSize: z
      .union([pixelsSchema, z.tuple([pixelsSchema, pixelsSchema])])
      .default(256)
      .describe('Pixels: one number, or [width, height]'),
    metersPerUnit: z
      .number()
      .positive()
      .optional()
      .describe('1, or what a degree measures at the equator for EPSG:4326, when absent'),
    pixelSize: z.number().positive().default(0.00028).describe('Metres a pixel measures on a screen'),
    alignTopLeft: flag.describe('Rows start at the top of the extent instead of its bottom'),
    yCoordinateFirst: z
      .boolean()
      .optional()
      .describe('The CRS names its axes y first (WMS 1.3.0, WMTS); what the EPSG says of it when absent'),
  })
  .refine((given) => LADDERS.filter((key) => Object.hasOwn(given, key)).length === 1, {
    error: 'needs exactly one of resolutions, scaleDenominators and levels',
  });

const SHAPES = ['bounds', 'wkt', 'geojson', 'file', 'postgres'];
const areaSchema = z
  .strictObject({
    name: z.string().min(1).max(200),
    srs: z
      .string()
      .regex(/^EPSG:[1-9]\d{0,5}$/, { error: 'must be a CRS such as EPSG:4326' })
      .default('EPSG:4326')
      .describe('CRS of its coordinates, x before y always'),
    bounds: extentSchema.optional(),
    wkt: text.optional().describe('POLYGON or MULTIPOLYGON'),
    geojson: z.looseObject({}).optional().describe('GeoJSON: polygons, or features of these'),
    file: text
      .optional()
      .describe(
        'A file of GeoJSON or WKT (`.wkt`), or a GeoPackage with `table`; relative to the configuration file',
      ),
    table: text.optional().describe('Table of the GeoPackage; it is read again when the file changes'),
    postgres: z
      .strictObject({
        url: z.string().regex(/^postgres(ql)?:\/\//, { error: 'must be a postgres:// URL' }),
        query: text.describe('Its first column is a geometry of PostGIS'),
        every: z.int().min(1).default(300).describe('Seconds between two readings'),
      })
      .optional()
      .describe('A query of a database with PostGIS'),
  })
  .refine(({ file, table }) => table === undefined || file !== undefined, {
    error: 'goes only with file, a GeoPackage',
    path: ['table'],
  })
  .refine(({ file, table }) => table !== undefined || !/\.gpkg$/i.test(file ?? ''), {
    error: 'is missing: it names the table of the GeoPackage',
    path: ['table'],
  })
  .refine((given) => SHAPES.filter((key) => Object.hasOwn(given, key)).length === 1, {
    error: `needs exactly one of ${SHAPES.join(', ')}`,
  });

/** The configuration file. Flags and environment variables override it; every absent key has a default. */
export const settingsSchema = z.strictObject({
  server: serverSchema.prefault({}),
  data: text.default('data').describe('Folder for tiles and state'),
  database: z
    .string()
    .regex(/^postgres(ql)?:\/\//, { error: 'must be a postgres:// URL' })
    .nullable()
    .default(null)
    .describe('postgres:// URL; SQLite in the data folder when absent'),
  node: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, {
      error: 'must be a name of at most 64 letters, digits, dots, colons, hyphens and underscores',
    })
    .nullable()
    .default(null)
    .describe('Name of this node among those that share the database; null: its host name and port'),
  access: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe('Require accounts; without them only this machine is served'),
      oidc: oidcSchema.nullable().default(null).describe('Sign-in with an OpenID Connect issuer'),
      proxyLogin: proxyLoginSchema
        .nullable()
        .default(null)
        .describe('Sign-in by headers of proxies in server.trustedProxies'),
    })
    .prefault({}),
  log: z
    .strictObject({ level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info') })
    .prefault({}),
  memoryTier: z
    .strictObject({
      size: sizeSchema.default('64 MiB').describe('Memory for tiles in front of the stores; 0: none'),
      staleSeconds: whole(0, 86_400)
        .default(300)
        .describe('How long tiles in memory are served while a shared database is away'),
    })
    .prefault({}),
  maxParameterSets: whole(1, 1_000_000)
    .default(1000)
    .describe('Combinations of parameter values of one layer of which tiles are stored'),
  tasks: tasksSchema.prefault({}),
  stores: z
    .record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), storeSchema)
    .prefault({ default: { type: 'bundle' } }),
  upstreams: z
    .record(upstreamHost, upstreamOptions)
    .default({})
    .describe('Limits for each host that sources send requests to'),
  adoptFolders: texts.default([]).describe('Folders below which layers declared over HTTP may adopt a cache'),
  adoptBuckets: z
    .record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), z.discriminatedUnion('type', BUCKET_OPTIONS))
    .default({})
    .describe('Buckets with caches of other programs, which layers may adopt'),
  changes: z.array(changeFeedOptions).default([]).describe('Feeds that report where data have changed'),
  follow: followSchema.default([]).describe('Map servers whose layers are followed'),
  purge: purgeSchema.default([]).describe('Caches in front of the server that are purged when tiles change'),
  notify: notifySchema.default([]).describe('Programs that are notified of failures and finished exports'),
  areas: z.array(areaSchema).default([]).describe('Places by name, to clip layers to and for tasks'),
  groups: z
    .array(
      z.strictObject({
        name: nameSchema,
        title: z.string().optional().describe('Shown to users; the name when absent'),
        layers: texts.min(1).describe('Names of layers and groups; the first one is at the bottom'),
      }),
    )
    .default([])
    .describe('Layers that WMS clients request by one name'),
  service: serviceSchema
    .prefault({})
    .describe('Service metadata in capabilities; a PUT of /rest/global replaces it'),
  gridSets: z.array(gridSetSchema).default([]).describe('Grid sets beside the built-in ones'),
  layers: z
    .array(layerSchema)
    .prefault([WORLD_LAYER])
    .describe('One layer named world, drawn by the server itself, when absent'),
});

/** The file's own form, with every default filled in. */
export type SettingsDocument = z.output<typeof settingsSchema>;

/** All settings of the application, checked and complete. Paths are absolute. */
export interface Settings
  extends Readonly<
    Omit<SettingsDocument, 'access' | 'areas' | 'groups' | 'service' | 'gridSets' | 'layers'>
  > {
  /** `adminPassword` is for the first administrator; null: a password is generated. */
  readonly access: SettingsDocument['access'] & { readonly adminPassword: string | null };
  readonly memoryTierBytes: number;
  /** By name. */
  readonly areas: ReadonlyMap<string, NamedArea>;
  readonly groups: LayerGroups;
  readonly service: ServiceDescription;
  readonly gridSets: GridSetRegistry;
  /** The declared ones, in the form of the file. */
  readonly gridSetDocuments: ReadonlyMap<string, unknown>;
  readonly layers: readonly LayerDeclaration<SourceSettings>[];
  readonly schedules: readonly ScheduleDeclaration[];
  readonly proxies: OutboundProxies;
}
