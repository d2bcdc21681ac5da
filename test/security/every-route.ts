import type { RouteDeps } from '../../src/http/api/route-deps.ts';
import { createRoutes } from '../../src/http/http-app.ts';
import { DEFAULT_LIMITS } from '../../src/http/limits.ts';
import type { Route } from '../../src/http/route.ts';

/** Every route, also new ones. Their handlers have no dependencies. */
export function everyRoute(): readonly Route[] {
  const anything: object = new Proxy(() => anything, { get: () => anything });
  const deps = new Proxy({}, { get: (_, name) => (name === 'assets' ? [] : anything) });
  return createRoutes(deps as RouteDeps, DEFAULT_LIMITS);
}

/** An address of the route, for a layer of that name. */
export function addressOf(path: string, layer: string): string {
  return path
    .replaceAll('{layer}', layer)
    .replaceAll('{tile}', '0.png')
    .replaceAll(/\{(gridSet|TILEMATRIXSET)\}/g, 'EPSG:900913')
    .replaceAll(/\{[zxy]\}/g, '0')
    .replaceAll(/\{\w+\}/g, '1');
}
