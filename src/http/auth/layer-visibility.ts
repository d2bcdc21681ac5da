import { type Caller, mayWorkOn, roleSuffices } from '../../access/caller.ts';
import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import type { Layer } from '../../domain/layer.ts';
import { remembered } from '../../lib/get-or-create.ts';
import type { Context } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import type { Headers } from '../response.ts';
import { type Handler, recovering } from '../route.ts';
import { keyRefused, layerRefused, type PresentedKey } from './reader-key.ts';

/** Throws unless the caller may see the layer. Public layers need no `await`: hot paths check `isOpenTo` first. */
export async function requireVisible(context: Context, layer: Layer): Promise<void> {
  await requireReadable(context, layer);
  if (!layer.enabled) throw new TilewardenError('layer-disabled', `Layer '${layer.name}' is disabled`);
}

/** Throws unless the caller may see the layer, even a disabled one: for administration. */
export async function requireReadable(context: Context, layer: Layer): Promise<void> {
  const key = keyFor(context, layer);
  if (key?.opens(layer)) return;
  if (key) throw layerRefused(key);
  if (layer.access === 'public') return;
  context.audience = 'caller';
  const caller = await context.identify();
  if (!caller) throw context.credentialsNeeded();
  if (!mayView(caller, layer)) throw new HttpProblem('forbidden', `${caller.name} may not see this layer.`);
  context.areas = caller.areas ?? null;
}

/** Null: no key. A pair such as `key=…` that is a parameter of this layer goes back to the query (`Context.released`). */
function keyFor(context: Context, layer: Layer): PresentedKey | null {
  const { key } = context;
  if (!key) return null;
  const released = key.takeLayerParameters(layer);
  if (released.length > 0) context.released = [context.released, ...released].filter(Boolean).join('&');
  if (key.candidates.length === 0) context.key = null;
  return context.key;
}

/** Throws unless the caller may work on the layer, which must be visible to it. */
export function requireLayerScope(context: Context, layer: string | undefined): void {
  const { caller } = context;
  if (!caller || layer === undefined || mayChange(context, layer)) return;
  throw new HttpProblem('forbidden', `${caller.name} may not work on this layer.`);
}

export function mayChange(context: Context, name: string): boolean {
  const { caller } = context;
  return caller !== null && mayView(caller, { name, access: context.accessOf(name) ?? 'public' });
}

/** Makes unknown layers indistinguishable from private ones. */
export type LayerScreen = (handler: Handler) => Handler;

/** If any layer is closed, even a disabled one, an unknown one needs credentials too. Synchronous handlers stay synchronous. */
export function createLayerScreen(closedLayers: () => Promise<readonly Layer[]>): LayerScreen {
  return (handler) =>
    recovering(handler, async (error, context) => {
      if (!isAboutUnknownLayer(error)) throw error;
      if (context.key) throw layerRefused(context.key);
      if ((await closedLayers()).length === 0) throw error;
      context.audience = 'caller';
      throw (await context.identify()) ? error : context.credentialsNeeded();
    });
}

/** Also as the cause of a service's own exception. */
function isAboutUnknownLayer(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : null;
  return isTilewardenError(error, 'layer-unknown') || isTilewardenError(cause, 'layer-unknown');
}

export function isOpenToAll(layer: Layer): boolean {
  return layer.access === 'public' && layer.enabled;
}

export function isOpenTo({ key }: Context, layer: Layer): boolean {
  return key ? layer.enabled && key.opens(layer) : isOpenToAll(layer);
}

/** Cached for each list of layers. */
export const areOpenToAll = remembered((layers: readonly Layer[]) => layers.every(isOpenToAll));

const publicLayers = remembered((layers: readonly Layer[]) => {
  const open = layers.filter(isPublic);
  return open.length === layers.length ? layers : open;
});

export function isPublic(layer: Layer): boolean {
  return layer.access === 'public';
}

/** For documents about layers; clients revalidate them each time. */
export function cacheControlOf(...layers: readonly Layer[]): Headers {
  return ['Cache-Control', layers.every(isOpenToAll) ? 'no-cache' : 'private, no-cache'];
}

export async function visibleLayers(context: Context, all: readonly Layer[]): Promise<readonly Layer[]> {
  const { key } = context;
  if (key && key.refusal !== null) throw keyRefused(key);
  if (key) return all.filter((layer) => key.mayRead(layer));
  if (publicLayers(all) === all) return all; // All are public.
  const caller = await context.identify();
  context.audience = caller ? 'caller' : 'varies';
  if (!caller) return publicLayers(all);
  context.areas = caller.areas ?? null;
  return all.filter((layer) => isPublic(layer) || mayView(caller, layer));
}

export function mayView(caller: Caller, layer: Pick<Layer, 'name' | 'access'>): boolean {
  const { access, name } = layer;
  const needed = access === 'public' || access === 'authenticated' ? 'viewer' : access;
  return roleSuffices(caller.role, needed) && mayWorkOn(caller, name);
}
