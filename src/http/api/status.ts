/** The server, its nodes, and the map servers (upstreams) with their state. */
import { z } from 'zod';
import { mayWorkOnAll } from '../../access/caller.ts';
import type { BoundLayer } from '../../catalog/catalog.ts';
import { isSourceFailure } from '../../domain/errors.ts';
import { coverageAt } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { failureText } from '../../domain/upstream-status.ts';
import { isoTime } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { collectYielding, createPace } from '../../lib/yielding.ts';
import { sourceRequestOf } from '../../pipeline/accept-answer.ts';
import { metatileWith, resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import { requireLayerScope, visibleLayers } from '../auth/layer-visibility.ts';
import { HttpProblem } from '../problems.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { layerFailure } from './layers.ts';
import { addEvictions } from './series.ts';
import { closedReason, count, texts, time } from './values.ts';

const LAYERS_PER_TURN = 100;

export const aboutResponse = z.object({
  version: z.string(),
  node: z.string(),
  startedAt: time,
  proxies: z
    .object({ http: z.string().nullable(), https: z.string().nullable() })
    .describe('Proxies for outbound requests to http and https addresses, without credentials; null: none'),
});

export const nodeListResponse = z.object({
  nodes: z.array(
    z.object({
      name: z.string(),
      roles: z.array(z.enum(['serve', 'worker'])),
      version: z.string(),
      startedAt: time,
      seenAt: time,
      leader: z.boolean().describe('Whether it runs the quota, schedules and clean-up for all nodes'),
      address: z.string().nullable().describe('Address of its HTTP interface; null: a worker'),
    }),
  ),
});

export const upstreamResponse = z.object({
  host: z.string(),
  limits: z.object({
    concurrency: z.number().int(),
    ratePerSecond: z.number().nullable(),
    dailyBudget: z.number().int().nullable(),
    quietHours: texts,
    timeZone: z.string(),
  }),
  inFlight: z.number().int(),
  waiting: z.object({ interactive: z.number().int(), task: z.number().int() }),
  concurrency: z.number().int().describe('Adaptive concurrency limit'),
  requestsPerSecond: z.number(),
  budget: z.object({ day: z.string(), used: z.number().int(), limit: z.number().int() }).nullable(),
  latency: z.object({ p50: z.number(), p95: z.number() }).nullable().describe('Milliseconds'),
  requests: count,
  refused: count,
  errors: z.record(z.string(), count),
  layers: texts.describe('Layers whose sources name the host'),
  lastError: layerFailure
    .unwrap()
    .extend({ layer: z.string() })
    .nullable()
    .describe('The last failure of these layers, with the response of the host'),
  state: z
    .enum(['healthy', 'probing', 'paused', 'failing'])
    .describe('failing: the last request failed; paused: no requests are sent for another reason'),
  failuresInARow: count,
  failingSince: time.nullable().describe('Time of the first of these failures'),
  lastFailure: z
    .object({ at: time, reason: z.string(), text: z.string().describe('E.g. HTTP 503') })
    .nullable(),
  breaker: z.enum(['closed', 'open', 'half-open']),
  retryAfter: time.nullable().describe('Set by the host with the header Retry-After'),
  waitingUntil: time.nullable().describe('When tasks may send requests again; null: now'),
  waitingReason: closedReason.nullable(),
  pausedBy: z.string().nullable().describe('The operator who paused it; null: not paused'),
  pausedAt: time.nullable(),
});

export const upstreamsResponse = z.object({ upstreams: z.array(upstreamResponse) });

export function showAbout(_: Call, { about }: ApiDeps) {
  const { version, startedAt, proxies } = about;
  return { version, node: process.versions.node, startedAt: isoTime(startedAt), proxies };
}

export async function listNodes(_: Call, { nodes }: ApiDeps) {
  const shown = (await nodes.list()).map((node) => {
    return { ...node, startedAt: isoTime(node.startedAt), seenAt: isoTime(node.seenAt) };
  });
  return { nodes: shown };
}

export async function showSeries(_: Call, { traffic, quota }: ApiDeps) {
  const series = traffic.series();
  return addEvictions(series, await quota.evictedSlices(Date.parse(series.from)));
}

export async function listUpstreams({ context }: Call, deps: ApiDeps) {
  const layers = await visibleLayers(context, await collectYielding(deps.catalog.layers()));
  const byHost = await layersByHost(layers, deps);
  const usedHosts = deps.metrics.upstreams().map(({ host }) => host);
  const hosts = [...new Set([...usedHosts, ...byHost.keys()])];
  return { upstreams: hosts.map((host) => upstreamDocument(host, byHost.get(host) ?? [], deps)) };
}

/** Yields to the event loop: there may be thousands of layers. */
async function layersByHost(
  layers: readonly Layer[],
  { catalog, hostsNamedIn }: ApiDeps,
): Promise<ReadonlyMap<string, string[]>> {
  const byHost = new Map<string, string[]>();
  const pace = createPace(LAYERS_PER_TURN);
  for (const { name } of layers) {
    const hosts = hostsNamedIn(catalog.layer(name)?.declared?.source);
    for (const host of hosts) getOrCreate(byHost, host, (): string[] => []).push(name);
    await pace(1);
  }
  return byHost;
}

/** A layer may use several hosts: the address of the failed request tells which one failed. */
function lastErrorOf(host: string, layers: readonly string[], { layerState, hostsNamedIn }: ApiDeps) {
  const failures = layers.flatMap((layer) => {
    const { lastFailure } = layerState(layer);
    const isOfHost = lastFailure?.upstream && hostsNamedIn(lastFailure.upstream.address).has(host);
    return isOfHost ? [{ layer, ...lastFailure }] : [];
  });
  const [last] = failures.sort((one, other) => other.at - one.at);
  return last ? { ...last, at: isoTime(last.at) } : null;
}

/** `layers`: names of the host's layers that the caller may see. */
function upstreamDocument(host: string, layers: readonly string[], deps: ApiDeps): object {
  const { answerSeconds: _forMetrics, closed: closing, pause, ...shown } = deps.upstreams.status(host);
  const { retryAfter, latency, failingSince, lastFailure } = shown;
  return {
    ...shown,
    layers,
    lastError: lastErrorOf(host, layers, deps),
    latency: latency && { p50: round(latency.p50), p95: round(latency.p95) },
    failingSince: isoTime(failingSince),
    lastFailure: lastFailure && {
      ...lastFailure,
      at: isoTime(lastFailure.at),
      text: failureText(lastFailure.reason),
    },
    retryAfter: isoTime(retryAfter),
    waitingUntil: isoTime(closing?.until ?? null),
    waitingReason: closing?.reason ?? null,
    pausedBy: pause?.by ?? null,
    pausedAt: isoTime(pause?.at ?? null),
  };
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

type OneHost = Call<{ params: 'host' }>;

export async function pauseUpstream(call: OneHost, deps: ApiDeps) {
  const { host } = await requireHostScope(call, deps);
  await deps.upstreams.pause(host, call.caller.name);
  noteChange(call, 'paused', { paused: true });
  return ownUpstreamDocument(call, deps);
}

export async function resumeUpstream(call: OneHost, deps: ApiDeps) {
  const { host } = await requireHostScope(call, deps);
  await deps.upstreams.resume(host);
  noteChange(call, 'resumed', { paused: false });
  return ownUpstreamDocument(call, deps);
}

/** Ends the pause of the breaker, and waits for a probe if a layer is enabled and passes no credentials of callers. */
export async function tryUpstream(call: OneHost, deps: ApiDeps) {
  const { host, layers } = await requireHostScope(call, deps);
  if (deps.upstreams.status(host).pause) {
    throw new HttpProblem('conflict', `Host ${host} is paused by an operator. Resume it first.`);
  }
  deps.upstreams.tryNow(host);
  const bound = layers
    .map((name) => deps.catalog.layer(name))
    .find((one) => one?.layer.enabled && !one.layer.passCredentials);
  if (bound) await probe(bound, call.context.signal);
  const { state } = deps.upstreams.status(host);
  noteChange(call, 'tried', { state });
  return ownUpstreamDocument(call, deps);
}

/** Fetches the middle metatile of the layer's first zoom. The tiles are discarded; the limiter records the result. */
async function probe(bound: BoundLayer, signal: AbortSignal): Promise<void> {
  const tiles = resolveTileSet(bound, { gridSet: null, format: null, parameters: new Map() });
  const { zoomStart: z } = tiles.subset;
  const rect = coverageAt(tiles.subset, z);
  if (!rect) return;
  const [x, y] = [Math.floor((rect.minX + rect.maxX) / 2), Math.floor((rect.minY + rect.maxY) / 2)];
  const metatile = metatileWith(tiles, { z, x, y });
  const request = sourceRequestOf({ tiles, metatile, priority: 'interactive' }, null, signal);
  await bound
    .source()
    .fetch(request)
    .catch((error: unknown) => {
      if (!isSourceFailure(error)) throw error;
    });
}

function noteChange({ note, params }: OneHost, verb: string, after: object): void {
  note({ target: `upstream:${params.host}`, summary: `${verb} upstream ${params.host}`, after });
}

async function ownUpstreamDocument({ context, params: { host } }: OneHost, deps: ApiDeps) {
  const layers = await visibleLayers(context, await collectYielding(deps.catalog.layers()));
  return upstreamDocument(host, (await layersByHost(layers, deps)).get(host) ?? [], deps);
}

/** Throws unless the caller may work on all layers of the host, or on every layer if it serves purges or feeds. */
async function requireHostScope({ caller, context, params: { host } }: OneHost, deps: ApiDeps) {
  const layers = (await layersByHost(await collectYielding(deps.catalog.layers()), deps)).get(host) ?? [];
  const isKnown = layers.length > 0 || deps.metrics.upstreams().some((used) => used.host === host);
  if (!isKnown) {
    throw new HttpProblem('path-unknown', 'There is no such upstream; GET /api/v1/upstreams lists them.');
  }
  for (const layer of layers) requireLayerScope(context, layer);
  if (layers.length === 0 && !mayWorkOnAll(caller)) {
    throw new HttpProblem('forbidden', `${caller.name} may not work on all layers.`);
  }
  return { host, layers };
}
