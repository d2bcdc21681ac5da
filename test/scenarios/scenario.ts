import { z } from 'zod';

/** Seconds since the beginning of the scenario. */
const moment = z.number().min(0);

const span = { from: moment.default(0), to: moment.optional() };

/** The behaviour of the upstream from a moment on, until the next line. */
const upstreamStep = z.strictObject({
  at: moment,
  answer: z.union([z.enum(['good', 'hang', 'reset', 'cut']), z.int().min(400).max(599)]),
  /** Milliseconds before it answers. */
  delay: z.int().min(0).default(0),
  /** Sent with the status. */
  retryAfter: z.int().optional(),
});

/** A client that requests tiles, one request after the other or not, as a map in a browser does. */
const clients = z.strictObject({
  ...span,
  /** Requests a second. Without it `count` are sent together, at `from`. */
  rate: z.number().positive().optional(),
  count: z.int().positive().optional(),
  /** `new`: each requests a new tile; `same`: all request the same one; `seen`: tiles that are cached. */
  tiles: z.enum(['new', 'same', 'seen']).default('new'),
  name: z.string().default('clients'),
});

const task = z.strictObject({
  at: moment,
  zoomStop: z.int(),
  threads: z.int().default(4),
  /** As in a seed request; left out: the task waits for its host. */
  retries: z.int().optional(),
  totalFailures: z.int().optional(),
});

/** An expected observation. Replies are counted by the time of their requests. */
const expectation = z.strictObject({
  ...span,
  /** The name of the clients. */
  of: z.string().default('clients'),
  /** All replies have one of these statuses. */
  statuses: z.array(z.int()).optional(),
  /** And these come among them. */
  some: z.array(z.int()).optional(),
  /** The minimum `Retry-After` of replies other than 200, in seconds. */
  retryAfter: z.int().optional(),
  cache: z.string().optional(),
  /** Milliseconds; every reply comes sooner. */
  within: z.number().optional(),
  /** The first good tile after `from`, of any request, comes at most this many seconds later. */
  goodAgainWithin: z.number().optional(),
  /** Requests that reach the upstream in the span. */
  upstreamRequests: z.strictObject({ least: z.int().default(0), most: z.int() }).optional(),
  /** Requests that reach it in any second of the span, at most. */
  upstreamRate: z.int().optional(),
  /** The most concurrent requests there, in the whole scenario. */
  upstreamPeak: z.int().optional(),
});

/** The state in `/api/v1/upstreams` and of the task at a moment. */
const sample = z.strictObject({
  at: moment,
  breaker: z.enum(['closed', 'open', 'half-open']).optional(),
  waitingReason: z.string().nullable().optional(),
  taskState: z.string().optional(),
  taskWaitsFor: z.string().nullable().optional(),
  taskReason: z.string().nullable().optional(),
  /** Tiles that failed. */
  taskFailed: z.int().optional(),
  /** Upstream requests that the task counts. */
  taskRequests: z.int().optional(),
  secondsRemaining: z.number().optional(),
  hostState: z.enum(['healthy', 'probing', 'paused', 'failing']).optional(),
});

export const scenarioSchema = z.strictObject({
  title: z.string(),
  seconds: z.number().positive(),
  /** The settings of the host in `upstreams`. */
  limits: z.record(z.string(), z.unknown()).default({}),
  timeoutSeconds: z.number().default(15),
  upstream: z.array(upstreamStep).min(1),
  clients: z.array(clients).default([]),
  tasks: z.array(task).default([]),
  samples: z.array(sample).default([]),
  expect: z.array(expectation).default([]),
});

export type Scenario = z.output<typeof scenarioSchema>;
