import type { z } from 'zod';
import { ROLES, type Role } from '../access/caller.ts';
import type { Context } from './context.ts';
import type { Response } from './response.ts';

/** `public`: without authentication. */
export type RouteRole = Role | 'public';

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
/** Every `GET` route accepts `HEAD` too. */
export type Method = (typeof METHODS)[number];

export type Handler = (context: Context) => Response | Promise<Response>;

/** The handler, with its errors passed to `recover`. */
export function recovering(
  handler: Handler,
  recover: (error: unknown, context: Context) => Response | Promise<Response>,
): Handler {
  return (context) => {
    try {
      const answer = handler(context);
      return answer instanceof Promise ? answer.catch((error: unknown) => recover(error, context)) : answer;
    } catch (error) {
      return recover(error, context);
    }
  };
}

export interface Route {
  readonly method: Method;
  /**
   * `{name}` is one segment, decoded once, so that it may contain a slash that came as `%2F`.
   * It may share its segment with text around it: in `/rest/seed/{layer}.json` the last `.json` is cut off.
   */
  readonly path: string;
  readonly role: RouteRole;
  readonly handler: Handler;
  /** Replaces `handler`, without a role, while the database is unreachable: no caller can be authenticated then. */
  readonly whileAway?: Handler;
  /** `anyone`: pages of other sites may read the response; otherwise only our own. */
  readonly sharing?: 'anyone';
  /** Queries that request a tile. Such a request may be answered without `node:http`, and never by a stream. */
  readonly tiles?: RegExp;
  /** Accepts reader keys, as routes shared with anyone do. */
  readonly takesKey?: true;
  /** Whether the request is a dry run, which changes nothing and is not audited. */
  readonly asksOnly?: (context: Context) => boolean;
  /** For `/api/v1/openapi.json`. */
  readonly describe?: RouteDescription;
}

export function publicRoute(path: string, handler: Handler): Route {
  return { method: 'GET', path, role: 'public', handler };
}

/** Public, for pages of other sites too. */
export function openRoute(path: string, handler: Handler): Route {
  return { ...publicRoute(path, handler), sharing: 'anyone' };
}

/** An open route; each of its addresses names a tile. */
export function tileRoute(path: string, handler: Handler): Route {
  return { ...openRoute(path, handler), tiles: /^/ };
}

/** A route in the OpenAPI document. Schemas are those that parse the request. */
export interface RouteDescription {
  /** One line, e.g. `List tasks`. */
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Other media types the body may come as; without it `application/json`. */
  readonly bodyTypes?: readonly string[];
  /** The meaning of a `text/plain` body, if one is accepted beside JSON. */
  readonly plainBody?: string;
  /** The response has an `ETag`, which a change accepts as `If-Match`. */
  readonly versioned?: boolean;
  /** For JSON responses; beside status 204, for those of dry runs. */
  readonly answer?: z.ZodType;
  /** Default: 200. */
  readonly status?: number;
  /** For other responses, e.g. `text/event-stream`. */
  readonly answerType?: string;
}

export function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const route of routes) {
    checkRole(route);
    const name = `${route.method} ${route.path}`;
    if (seen.has(name)) throw new Error(`The route ${name} is declared twice`);
    seen.add(name);
  }
}

/** Also checked at run time: with a route without a role the server does not start. */
function checkRole(route: Route): void {
  const known: readonly unknown[] = ['public', ...ROLES];
  if (known.includes(route.role)) return;
  throw new Error(`The route ${route.method} ${route.path} does not declare a role`);
}
