import { mayWorkOnAll } from '../../access/caller.ts';
import type { BoundLayer } from '../../catalog/catalog.ts';
import { isSourceFailure } from '../../domain/errors.ts';
import { coverageAt } from '../../domain/grid-subset.ts';
import { collectYielding } from '../../lib/yielding.ts';
import { sourceRequestOf } from '../../pipeline/accept-answer.ts';
import { metatileWith, resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import { requireLayerScope, visibleLayers } from '../auth/layer-visibility.ts';
import { HttpProblem } from '../problems.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { layersByHost, upstreamDocument } from './status.ts';

type OneHost = Call<{ params: 'host' }>;

export async function pauseUpstream(call: OneHost, deps: ApiDeps) {
  const { host } = await ownHost(call, deps);
  await deps.upstreams.pause(host, call.caller.name);
  note(call, 'paused', { paused: true });
  return shown(call, deps);
}

export async function resumeUpstream(call: OneHost, deps: ApiDeps) {
  const { host } = await ownHost(call, deps);
  await deps.upstreams.resume(host);
  note(call, 'resumed', { paused: false });
  return shown(call, deps);
}

/** Resolves when the probe has ended. */
export async function tryUpstream(call: OneHost, deps: ApiDeps) {
  const { host, layers } = await ownHost(call, deps);
  if (deps.upstreams.status(host).pause) {
    throw new HttpProblem('conflict', `Host ${host} is paused by an operator. Resume it first.`);
  }
  deps.upstreams.tryNow(host);
  const bound = layers.map((name) => deps.catalog.layer(name)).find((one) => one && isProbe(one));
  if (bound) await probe(bound, call.context.signal);
  const { state } = deps.upstreams.status(host);
  note(call, 'tried', { state });
  return shown(call, deps);
}

function isProbe({ layer }: BoundLayer): boolean {
  return layer.enabled && !layer.passCredentials;
}

/** The middle metatile of the layer's first zoom, which is neither checked nor kept. The limiter notes the result. */
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

function note({ note, params }: OneHost, done: string, after: object): void {
  note({ target: `upstream:${params.host}`, summary: `${done} upstream ${params.host}`, after });
}

async function shown({ context, params: { host } }: OneHost, deps: ApiDeps) {
  const layers = await visibleLayers(context, await collectYielding(deps.catalog.layers()));
  return upstreamDocument(host, (await layersByHost(layers, deps)).get(host) ?? [], deps);
}

/** Requests of all its layers are concerned; without layers, those of purges and feeds. */
async function ownHost({ caller, context, params: { host } }: OneHost, deps: ApiDeps) {
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
