import { z } from 'zod';
import { LAYER_ACCESS, OUTSIDE_ANSWERS } from '../../domain/layer.ts';
import { TASK_STATES, TASK_TYPES } from '../../tasks/task.ts';
import { COVERAGE_KINDS } from './coverage-grid.ts';
import { area, bounds, count, names, parameters, tileSetName, time } from './openapi-values.ts';

const zoomExpiry = z
  .array(z.object({ minZoom: z.number().int(), seconds: z.number() }))
  .describe('By rising zoom; goes before the number beside it');

const closedReason = z.enum(['quiet-hours', 'daily-budget', 'retry-after', 'failing']);

export const upstreamsAnswer = z.object({
  upstreams: z.array(
    z.object({
      host: z.string(),
      limits: z.object({
        concurrency: z.number().int(),
        ratePerSecond: z.number().nullable(),
        dailyBudget: z.number().int().nullable(),
        quietHours: names,
        timeZone: z.string(),
      }),
      inFlight: z.number().int(),
      waiting: z.object({ interactive: z.number().int(), task: z.number().int() }),
      concurrency: z.number().int().describe('Requests at once that the host seems to bear now'),
      requestsPerSecond: z.number(),
      budget: z.object({ day: z.string(), used: z.number().int(), limit: z.number().int() }).nullable(),
      latency: z.object({ p50: z.number(), p95: z.number() }).nullable().describe('Milliseconds'),
      requests: count,
      refused: count,
      errors: z.record(z.string(), count),
      state: z
        .enum(['healthy', 'probing', 'paused', 'failing'])
        .describe('failing: the last request failed; paused: not asked now for another reason'),
      failuresInARow: count,
      failingSince: time.nullable().describe('Of the first failure in a row'),
      lastFailure: z
        .object({ at: time, reason: z.string(), text: z.string().describe('E.g. HTTP 503') })
        .nullable(),
      breaker: z.enum(['closed', 'open', 'half-open']),
      retryAfter: time.nullable().describe('What the host itself asked for'),
      waitingUntil: time.nullable().describe('When tasks may ask it again; null: now'),
      waitingReason: closedReason.nullable(),
    }),
  ),
});

export const taskAnswer = z.object({
  id: z.number().int(),
  layer: z.string(),
  type: z.enum(TASK_TYPES),
  state: z.enum(TASK_STATES),
  tilesProcessed: count,
  tilesTotal: count,
  secondsRemaining: z.number().describe('-1 while it cannot be told'),
  tilesPerSecond: z.number(),
  reason: z.string().nullable(),
  waitingFor: z
    .object({
      host: z.string().nullable().describe('Null: it waits for a store'),
      until: time,
      reason: z.enum([...closedReason.options, 'store-full', 'store-failed']),
      text: z.string(),
    })
    .nullable()
    .describe('What the task waits for; null while it has what it needs'),
  gridSet: z.string(),
  format: z.string(),
  parameters,
  zoomStart: z.number().int(),
  zoomStop: z.number().int(),
  bounds,
  area: area.nullable(),
  onlyStale: z.boolean().describe('Renews what is there and no longer fresh, and makes nothing else'),
  threadCount: z.number().int(),
  priority: z.number().int(),
  tileFailureRetryCount: z.number().int(),
  tileFailureRetryWaitTime: z.number().int(),
  totalFailuresBeforeAborting: z.number().int(),
  counters: z.object({
    made: count,
    present: count,
    removed: count,
    blank: count,
    failed: count,
    bytes: count,
    upstreamRequests: count,
  }),
  evictedTiles: count.optional().describe('Removed to keep quotas while the task ran, of whatever layer'),
  evictedBytes: count.optional(),
  errors: z.array(z.object({ at: time, z: z.number(), x: z.number(), y: z.number(), message: z.string() })),
  createdBy: z.string(),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
});

export const taskListAnswer = z.object({
  tasks: z.array(taskAnswer),
  nextBefore: z.number().int().nullable().describe('Give it as `before` for the next page; null: no more'),
});

export const taskListQuery = z.object({
  state: z
    .string()
    .optional()
    .describe(`Any of ${TASK_STATES.join(', ')}, separated by commas`),
  layer: z.string().optional(),
  type: z.enum(TASK_TYPES).optional(),
  since: time.optional(),
  before: z.number().int().optional(),
  limit: z.number().int().min(1).max(500).default(50),
});

export const estimateAnswer = z.object({
  tiles: count,
  metatiles: count,
  upstreamRequests: count,
  bytes: count.nullable(),
  seconds: z.number().nullable(),
});

export const truncateAnswer = z.object({
  layer: z.string(),
  dryRun: z.boolean(),
  tiles: count,
  bytes: count,
  tileSets: z.array(z.object({ ...tileSetName, tiles: count, bytes: count })),
});

export const invalidateAnswer = truncateAnswer.extend({ tasks: z.array(z.number().int()) });

const access = z.enum(LAYER_ACCESS);
const pair = z.tuple([z.number(), z.number()]);

const layerState = {
  changedAt: time.nullable().describe('When its tiles were last stored or removed, as far as is known'),
  failures: count.describe('Times that tiles could not be made or kept, in the last day'),
  lastFailure: z
    .object({ at: time, reason: z.string(), message: z.string() })
    .nullable()
    .describe('The last one since the server started'),
};

export const layerListAnswer = z.object({
  layers: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      access,
      gridSets: names,
      formats: names,
      ...layerState,
    }),
  ),
});

export const layerAnswer = z.object({
  origin: z.enum(['file', 'database']).describe('Where it is declared; what is in the file is changed there'),
  version: z.number().nullable(),
  document: z.unknown(),
  name: z.string(),
  title: z.string(),
  description: z.string(),
  access,
  source: z
    .record(z.string(), z.string())
    .describe('Where its pictures come from: type, address without query, layers and so on; nothing secret'),
  store: z.string().nullable(),
  adopts: names.describe('Caches of other programs that it reads: layout and place'),
  attribution: z.string(),
  gridSets: z.array(
    z.object({
      name: z.string(),
      srs: z.string(),
      extent: bounds,
      zoomStart: z.number().int(),
      zoomStop: z.number().int(),
      resolutions: z.array(z.number()),
      tileSize: pair,
      origins: z.array(pair).describe('Top left corners, one for each zoom'),
    }),
  ),
  formats: names,
  extensions: names,
  parameters: z.array(
    z.object({ name: z.string(), default: z.string(), values: names.nullable().describe('null: many') }),
  ),
  metatile: pair,
  gutter: z.number().int(),
  expireCacheSeconds: z.number().nullable(),
  expireCacheByZoom: zoomExpiry,
  expireClientsSeconds: z.number(),
  expireClientsByZoom: zoomExpiry,
  followSource: z.boolean(),
  staleWhileRevalidateSeconds: z.number(),
  staleIfErrorSeconds: z.number(),
  outside: z.enum(OUTSIDE_ANSWERS).nullable(),
  blankIsRight: z.boolean(),
  fullWms: z.boolean(),
  infoFormats: names,
  ...layerState,
});

export const gridSetListAnswer = z.object({
  gridSets: z.array(
    z.object({
      name: z.string(),
      aliases: names,
      description: z.string(),
      srs: z.string(),
      extent: bounds,
      tileSize: pair,
      levels: z.array(
        z.object({
          name: z.string(),
          resolution: z.number(),
          scaleDenominator: z.number(),
          columns: count,
          rows: count,
        }),
      ),
    }),
  ),
});

const tileSet = { layer: z.string(), ...tileSetName };

/** Beside these, the layer's parameters by name. */
export const tileSetQuery = z.object({
  format: z.string().optional().describe("Media type or extension; the layer's first when left out"),
});

export const zoomCoverageAnswer = z.object({
  ...tileSet,
  zooms: z.array(z.object({ z: z.number().int(), tiles: count, bytes: count, offered: count })),
});

const coverageKind = z.enum(COVERAGE_KINDS);

export const zoomCoverageQuery = tileSetQuery.extend({
  bounds: z
    .string()
    .optional()
    .describe("minX,minY,maxX,maxY in the grid set's CRS; everything when left out"),
});

export const coverageQuery = zoomCoverageQuery.extend({
  shows: coverageKind.optional().describe('age near by and share from afar when left out'),
});

export const coverageAnswer = z.object({
  ...tileSet,
  z: z.number().int(),
  shows: coverageKind
    .optional()
    .describe(
      'age: 0 not there, 1 old to 5 fresh, see ageSteps, of the last change in a cell; share: the percentage that is there',
    ),
  ageSteps: z.array(z.number()).optional().describe('Seconds'),
  cell: z.number().int().describe('Tiles along a side of a cell'),
  minX: z.number().int().optional(),
  minY: z.number().int().optional(),
  columns: z.number().int(),
  rows: z.number().int(),
  bounds: bounds.nullable().describe('Of all cells together'),
  runs: z
    .array(z.number().int())
    .describe('A value and how many cells have it, in turn, row by row from the top left'),
});

export const tileAnswer = z.object({
  ...tileSet,
  z: z.number().int(),
  x: z.number().int(),
  y: z.number().int(),
  parameters,
  bounds,
  stored: z
    .object({
      bytes: count,
      checksum: z.string(),
      storedAt: time,
      ageSeconds: z.number(),
      expiresAt: time.nullable(),
      expired: z.boolean(),
      madeBy: z.object({
        kind: z
          .enum(['task', 'request', 'unknown'])
          .describe('unknown: it was stored before this was noted, or by another program'),
        task: z.number().int().nullable(),
        inHistory: z.boolean().describe('Whether /api/v1/tasks/{id} still tells of the task'),
      }),
    })
    .nullable(),
  page: z.object({ x: z.number(), y: z.number(), hits: count, lastUsedAt: time.nullable() }),
  metatile: z.object({ minX: z.number(), minY: z.number(), maxX: z.number(), maxY: z.number() }).nullable(),
  upstream: z.string().nullable().describe('Where it would be fetched, without secrets'),
});

const column = z.array(z.number());

export const seriesAnswer = z.object({
  from: time,
  stepSeconds: z.number(),
  hits: column,
  misses: column,
  stale: column,
  bypassed: column,
  failed: column,
  bytes: column,
  missMilliseconds: column.describe('Of all misses of the step together'),
  evictedTiles: column,
  evictedBytes: column,
});

export const aboutAnswer = z.object({
  version: z.string(),
  node: z.string(),
  startedAt: time,
});

export const nodeListAnswer = z.object({
  nodes: z.array(
    z.object({
      name: z.string(),
      roles: z.array(z.enum(['serve', 'worker'])),
      version: z.string(),
      startedAt: time,
      seenAt: time,
      leader: z.boolean().describe('Whether it runs the quota, schedules and clean-up for all nodes'),
      address: z.string().nullable().describe('Where it answers HTTP; null for a worker'),
    }),
  ),
});

/** The schema is the configuration file's, which is published with the program. */
export const declarationBody = z
  .looseObject({ name: z.string().optional() })
  .describe('A layer or grid set as in the configuration file; see tilewarden.schema.json');

export const dryRunQuery = z.object({
  dryRun: z.enum(['true', 'false']).optional().describe('Only say what would become of cached tiles'),
});

export const importAnswer = z.strictObject({
  layers: z.array(z.looseObject({ name: z.string() })).describe('As POST /api/v1/layers takes them'),
  gridSets: z.array(z.looseObject({ name: z.string() })).describe('As POST /api/v1/gridsets takes them'),
  report: z.array(
    z.strictObject({
      subject: z.string(),
      element: z.string(),
      fate: z.enum(['taken', 'changed', 'left out']),
      what: z.string(),
    }),
  ),
});

export const declarationAnswer = z.object({
  name: z.string(),
  version: z.number().nullable().describe('Also in ETag, for If-Match; null: nothing was changed'),
  document: z.unknown().describe('In the form of the configuration file, secrets hidden'),
  tileSets: z.object({ kept: z.number(), truncated: z.number(), orphaned: z.number() }),
  affected: z.array(
    z.object({
      layer: z.string(),
      gridSet: z.string(),
      format: z.string(),
      parametersId: z.string().nullable(),
      fate: z.enum(['truncated', 'orphaned']),
    }),
  ),
});
