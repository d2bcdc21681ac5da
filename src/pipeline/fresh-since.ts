import type { Layer } from '../domain/layer.ts';
import type { Clock } from '../lib/clock.ts';

/** A tile created at this time or later is fresh. Milliseconds since 1970. */
export function freshSince(layer: Layer, clock: Clock): number {
  return layer.expireCacheSeconds === null ? 0 : clock.now() - layer.expireCacheSeconds * 1000;
}
