import { type Caller, mayWorkOn, roleSuffices } from '../../access/caller.ts';
import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import type { Layer } from '../../domain/layer.ts';
import { remembered } from '../../lib/get-or-make.ts';
import type { Headers } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import { type Handler, recovering } from '../route.ts';
import { keyForbidden, keyRefused, type PresentedKey } from './reader-key.ts';

/**
 * For every service that shows a layer: throws unless the caller may look at it. Layers are public unless they say
 * otherwise, and then there is nothing to wait for: ask `isOpen` first where every microsecond counts.
 */
export async function refuseStrangers(exchange: Exchange, layer: Layer): Promise<void> {
  await refuseOthers(exchange, layer);
  if (!layer.enabled) throw new TilewardenError('layer-disabled', `Layer '${layer.name}' is disabled`);
}

/** For administration, which disabled layers are open to as well. */
export async function refuseOthers(exchange: Exchange, layer: Layer): Promise<void> {
  const key = keyFor(exchange, layer);
  if (key?.opens(layer)) return;
  if (key) throw key.refusal === null ? keyForbidden() : keyRefused(key);
  if (layer.access === 'public') return;
  exchange.audience = 'caller';
  const caller = await exchange.identify();
  if (!caller) throw exchange.credentialsNeeded();
  if (!mayLookAt(caller, layer)) throw new HttpProblem('forbidden', `${caller.name} may not see this layer.`);
}

/** Null: the request shows no key, or nothing but parameters of this layer. */
function keyFor(exchange: Exchange, layer: Layer): PresentedKey | null {
  const { key } = exchange;
  if (!key) return null;
  const released = key.release(layer);
  if (released.length > 0) exchange.released = [exchange.released, ...released].filter(Boolean).join('&');
  if (key.candidates.length === 0) exchange.key = null;
  return exchange.key;
}

/** Wraps what answers about layers: says of one that is not there what it says of one that strangers may not see. */
export type LayerScreen = (handler: Handler) => Handler;

/**
 * Where any layer is closed, a stranger who asks for an unknown one has to say who it is, as for a closed one. Where
 * none is there is nothing to hide. Synchronous handlers stay synchronous.
 */
export function createLayerScreen(allLayers: () => Promise<readonly Layer[]>): LayerScreen {
  return (handler) =>
    recovering(handler, async (error, exchange) => {
      if (!isAboutUnknownLayer(error)) throw error;
      if (exchange.key) throw exchange.key.refusal === null ? keyForbidden() : keyRefused(exchange.key);
      if (areOpen(await allLayers())) throw error;
      exchange.audience = 'caller';
      throw (await exchange.identify()) ? error : exchange.credentialsNeeded();
    });
}

/** Also where a service tells it in a form of its own. */
function isAboutUnknownLayer(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : null;
  return isTilewardenError(error, 'layer-unknown') || isTilewardenError(cause, 'layer-unknown');
}

export function isOpen(layer: Layer): boolean {
  return layer.access === 'public' && layer.enabled;
}

/** Whether a request may read the layer without being asked who is calling. */
export function isOpenTo({ key }: Exchange, layer: Layer): boolean {
  return key ? layer.enabled && key.opens(layer) : isOpen(layer);
}

/** Of a list that stays the same while the catalog does, found once. */
export const areOpen = remembered((layers: readonly Layer[]) => layers.every(isOpen));

const publicOf = remembered((layers: readonly Layer[]) => {
  const open = layers.filter(isPublic);
  return open.length === layers.length ? layers : open;
});

export function isPublic(layer: Layer): boolean {
  return layer.access === 'public';
}

/** Of a document about layers, which clients revalidate each time. */
export function cacheControlOf(...layers: readonly Layer[]): Headers {
  return ['Cache-Control', layers.every(isOpen) ? 'no-cache' : 'private, no-cache'];
}

export async function visibleLayers(exchange: Exchange, all: readonly Layer[]): Promise<readonly Layer[]> {
  const { key } = exchange;
  if (key && key.refusal !== null) throw keyRefused(key);
  if (key) return all.filter((layer) => key.mayRead(layer));
  if (publicOf(all) === all) return all;
  const caller = await exchange.identify();
  exchange.audience = caller ? 'caller' : 'varies';
  if (!caller) return publicOf(all);
  return all.filter((layer) => isPublic(layer) || mayLookAt(caller, layer));
}

export function mayLookAt(caller: Caller, layer: Layer): boolean {
  const { access, name } = layer;
  const needed = access === 'public' || access === 'authenticated' ? 'viewer' : access;
  return roleSuffices(caller.role, needed) && mayWorkOn(caller, name);
}
