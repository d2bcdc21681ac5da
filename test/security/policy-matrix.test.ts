import { describe, expect, it } from 'vitest';
import { mayWorkOn, roleSuffices } from '../../src/access/caller.ts';
import { createAccountAccess, proxyHeadersOf } from '../../src/http/auth/access.ts';
import { textResponse } from '../../src/http/response.ts';
import type { Route, RouteRole } from '../../src/http/route.ts';
import { createHttpAppOver } from '../../src/http/server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { inject, LISTENING, noAccounts } from '../fixtures/http-app.ts';
import { isLong } from '../fixtures/length.ts';
import { openCallers, PROXY, PROXY_LOGIN, type TestCaller } from './callers.ts';
import { addressOf, everyRoute } from './every-route.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'];
const LAYER = 'world';

const VARIANTS: readonly (readonly [string, (address: string) => string])[] = [
  ['a trailing slash', (address) => `${address}/`],
  ['a double slash in front', (address) => `/${address}`],
  ['a double slash inside', (address) => address.replace(/(.)\//, '$1//')],
  ['a path parameter', (address) => `${address};x`],
  ['a path parameter in its first part', (address) => address.replace(/^(\/[^/]+)/, '$1;x')],
  ['an encoded slash', (address) => address.replace(/(.)\//g, '$1%2F')],
  [
    'its letters encoded',
    (address) => address.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  ],
  [
    'its letters encoded twice',
    (address) => address.replace(/[a-z]/, (letter) => `%25${letter.charCodeAt(0).toString(16)}`),
  ],
  ['upper case', (address) => address.toUpperCase()],
  ['.html behind it', (address) => `${address}.html`],
  ['a dot segment', (address) => `/tiles/..${address}`],
  ['a dot segment in the middle', (address) => address.replace(/^(\/[^/]+)/, '$1/.')],
  ['a null byte', (address) => `${address}%00`],
  ['a prefix', (address) => `/geowebcache${address}`],
  ['two prefixes', (address) => `/geowebcache/geowebcache${address}`],
  ['a query', (address) => `${address}?role=admin&_method=GET`],
];

async function openMatrix() {
  const { accounts, callers } = await openCallers();
  const [anonymous] = callers;
  /** All callers in the long form; the anonymous one and another, different each time, in the short one. */
  const someCallers = (number: number) =>
    callers.filter((one, at) => isLong || one === anonymous || at === number % callers.length);
  // Each handler only returns its own route.
  const routes = everyRoute().map((route) => ({
    ...route,
    handler: () => textResponse(200, `${route.method} ${route.path}`),
  }));
  const access = createAccountAccess(accounts.authenticator, proxyHeadersOf(PROXY_LOGIN, silentLogger));
  const keys = accounts.readerKeys;
  const auth = { access, accessOf: () => null, audit: noAccounts.audit, keys, log: silentLogger };
  const app = createHttpAppOver(routes, auth, { ...LISTENING, trustedProxies: [PROXY] });
  async function ask(method: string, url: string, caller: TestCaller) {
    const answer = await inject(app, {
      method: method as 'GET',
      url,
      headers: { host: 'localhost', ...caller.headers() },
      remoteAddress: caller.address(),
    });
    return { status: answer.statusCode, text: answer.body, headers: answer.headers };
  }
  return { routes, callers, anonymous, someCallers, ask };
}

function routeOf(routes: readonly Route[], path: string, method: string): Route | undefined {
  return routes.find((one) => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method));
}

/** The declared policy, read straight from the table. */
function expectedStatus(routes: readonly Route[], path: string, method: string, caller: TestCaller): number {
  const here = routes.filter((route) => route.path === path);
  const route = routeOf(routes, path, method);
  const role: RouteRole =
    route?.role ??
    (here.some((one) => one.role === 'public') && !path.startsWith('/api/') ? 'public' : 'viewer');
  if (role !== 'public' && caller.role === null) return 401;
  if (role !== 'public' && caller.role !== null && !roleSuffices(caller.role, role)) return 403;
  if (!route) return 405;
  const changes = method !== 'GET' && method !== 'HEAD' && role !== 'public';
  return changes && path.includes('{layer}') && !mayWorkOn(caller, LAYER) ? 403 : 200;
}

/** Whether the table lets this caller reach this route. */
function mayReach(route: Route, caller: TestCaller): boolean {
  if (route.role === 'public') return true;
  if (caller.role === null || !roleSuffices(caller.role, route.role)) return false;
  return route.method === 'GET' || !route.path.includes('{layer}') || mayWorkOn(caller, LAYER);
}

describe('rights of callers', () => {
  it('the rights of callers follow the table of routes for every path, method and caller', async () => {
    const { routes, callers, someCallers, ask } = await openMatrix();
    const paths = [...new Set(routes.map(({ path }) => path))];
    const deviations: string[] = [];
    let asked = 0;
    for (const path of paths) {
      for (const method of METHODS) {
        for (const caller of routeOf(routes, path, method) ? callers : someCallers(asked)) {
          const answer = await ask(method, addressOf(path, LAYER), caller);
          const expected = expectedStatus(routes, path, method, caller);
          asked += 1;
          const hasChallenge = answer.status !== 401 || answer.headers['www-authenticate'] !== undefined;
          if (answer.status === expected && hasChallenge) continue;
          deviations.push(`${method} ${path} ${caller.title}: ${answer.status}, not ${expected}`);
        }
      }
    }
    process.stdout.write(`${paths.length} paths, ${asked} requests, ${deviations.length} deviations\n`);
    expect(paths.length).toBeGreaterThan(20);
    expect(deviations).toEqual([]);
  });

  it('the rights of callers are the same for other spellings of an address', async () => {
    const { routes, someCallers, ask } = await openMatrix();
    const deviations: string[] = [];
    let asked = 0;
    for (const [row, { method, path }] of routes.entries()) {
      for (const [column, [variant, write]] of VARIANTS.entries()) {
        // In the short form a third of them for each route, and other ones for the next.
        if (!isLong && (row + column) % 3 !== 0) continue;
        for (const caller of someCallers(row + column)) {
          const { status, text } = await ask(method, write(addressOf(path, LAYER)), caller);
          asked += 1;
          const reached = routes.find((route) => `${route.method} ${route.path}` === text);
          const fine = reached ? mayReach(reached, caller) : [308, 400, 401, 403, 404, 405].includes(status);
          if (!fine) deviations.push(`${method} ${path} with ${variant}, ${caller.title}: ${status} ${text}`);
        }
      }
    }
    process.stdout.write(
      `${asked} requests in ${VARIANTS.length} variants, ${deviations.length} deviations\n`,
    );
    expect(deviations).toEqual([]);
  });

  it('every path in a closed area answers 401 to an anonymous caller', async () => {
    const { routes, anonymous, ask } = await openMatrix();
    if (!anonymous) throw new Error('there is no anonymous caller');
    const open = routes
      .filter(({ role }) => role === 'public')
      .map(({ method, path }) => `${method} ${path}`);
    expect(open.filter((name) => /^\w+ \/(rest|api|masstruncate|diskquota|metrics)/.test(name))).toEqual([
      // Signed by its sender.
      'POST /api/v1/changes/{name}',
      'POST /api/v1/session',
    ]);
    for (const path of [
      '/rest',
      '/rest/x',
      '/api/v9/x',
      '/masstruncate/x',
      '/diskquota',
      '/diskquota.csv',
      '/rest/%zz',
    ]) {
      expect((await ask('GET', path, anonymous)).status, path).toBe(401);
    }
  });
});
