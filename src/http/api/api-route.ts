/**
 * A route of the administrative interface is one entry of a table (`api-routes.ts`, `gwc-routes.ts`):
 *
 *     route('PUT /api/v1/users/{name}', 'admin', 'Change a user',
 *       { body: userChangesBody, answer: userResponse, target: 'user:{name}' }, changeUser)
 *
 * The entry defines the request: the dispatcher reads method, path and role, the schemas parse query and body before
 * the handler runs, and the OpenAPI document, the console's types and the tests of rights and bodies are derived from
 * it. A handler is a function of the call (`Call<{ body: typeof userChangesBody; params: 'name' }>`) and of `ApiDeps`.
 * It returns
 *
 * - a value: sent as JSON with the status of the entry;
 * - nothing: 204;
 * - a `Response`, for another status (dry runs), for headers, or for content that is not JSON.
 */
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { CallerPlaces } from '../auth/access.ts';
import type { ChangeNote, Context } from '../context.ts';
import { jsonResponse, NOTHING, type Response } from '../response.ts';
import type { Method, Route, RouteDescription, RouteRole } from '../route.ts';
import type { TileFinder } from '../services/tile-service-routes.ts';
import { checkBody, isDryRun, NO_QUERY, readJson, readQuery } from './read-body.ts';
import type { RouteDeps } from './route-deps.ts';

/** How the request of an entry is parsed, audited and described. */
export interface Shape extends Omit<RouteDescription, 'summary'> {
  /** Query parameters that may be repeated. */
  readonly repeatable?: readonly string[];
  /** The handler parses query and body itself: it checks a signature first, or accepts several forms of body. */
  readonly raw?: true;
  /** A `POST` that changes nothing and is not audited. */
  readonly asksOnly?: true;
  /** Target in the audit log, if the handler notes none: `{name}` is from the path, `{caller}` the caller's name. */
  readonly target?: string;
}

export interface ApiDeps extends RouteDeps {
  readonly eventPlaces: CallerPlaces;
  readonly tileAt: TileFinder;
  readonly routes: () => readonly Route[];
}

interface CallShape {
  readonly query?: z.ZodObject | undefined;
  readonly body?: z.ZodType | undefined;
  readonly params?: string;
}

/** A parsed request, the first argument of a handler. */
export interface Call<S extends CallShape = object> {
  readonly context: Context;
  /** Throws on public routes. */
  readonly caller: Caller;
  readonly params: Readonly<
    Record<S extends { readonly params: infer P extends string } ? P : never, string>
  >;
  readonly query: S extends { readonly query: infer Q extends z.ZodType } ? z.output<Q> : unknown;
  readonly body: S extends { readonly body: infer B extends z.ZodType } ? z.output<B> : unknown;
  readonly note: (change: ChangeNote) => void;
}

export type ParamsIn<Name extends string> = Name extends `${string}{${infer Param}}${infer Rest}`
  ? Param | ParamsIn<Rest>
  : never;

export interface ApiRoute<Name extends string = string, S extends Shape = Shape> {
  /** Method and path, e.g. `GET /api/v1/tasks/{id}`. */
  readonly name: Name;
  readonly role: RouteRole;
  readonly summary: string;
  readonly shape: S;
  readonly answer: (context: Context, deps: ApiDeps) => Promise<Response>;
}

export function route<const Name extends `${Method} /${string}`, const S extends Shape>(
  name: Name,
  role: RouteRole,
  summary: string,
  shape: S,
  handler: (
    call: Call<Pick<S, keyof S & ('query' | 'body')> & { readonly params: ParamsIn<Name> }>,
    deps: ApiDeps,
  ) => unknown,
): ApiRoute<Name, S> {
  const answer = async (context: Context, deps: ApiDeps) =>
    answerWith(await handler(readCall(context, name, shape) as Parameters<typeof handler>[0], deps), shape);
  return { name, role, summary, shape, answer };
}

export function bindRoutes(table: readonly ApiRoute[], deps: ApiDeps): readonly Route[] {
  return table.map(({ name, role, summary, shape, answer }) => {
    const [method, path = ''] = name.split(' ');
    const handler = (context: Context) => answer(context, deps);
    const describe = { summary, ...shape };
    return { method: method as Method, path, role, handler, describe, ...asksOnly(shape) };
  });
}

function readCall(context: Context, name: string, shape: Shape): Call {
  const note = (change: ChangeNote) => {
    context.change = change;
  };
  if (shape.target) note({ target: auditTarget(shape.target, context) });
  const query = readQueryOf(context, name, shape);
  return {
    context,
    get caller() {
      if (context.caller) return context.caller;
      throw new Error('A public route has no caller');
    },
    params: context.params,
    query,
    body: shape.body && !shape.raw ? checkBody(readJson(context), shape.body) : null,
    note,
  };
}

/** Undeclared query parameters are refused: a `dryRun` would be ignored. GeoWebCache's requests may have any. */
function readQueryOf(context: Context, name: string, { query, repeatable, raw }: Shape): object {
  const schema = query ?? (name.includes(' /api/') ? NO_QUERY : null);
  return schema && !raw ? readQuery(context, schema, repeatable) : {};
}

function auditTarget(pattern: string, { params, caller }: Context): string {
  return pattern.replace(/\{(\w+)\}/, (_, name: string) => params[name] ?? caller?.name ?? '');
}

function answerWith(result: unknown, { status = 200 }: Shape): Response {
  if (result === undefined) return NOTHING;
  return isResponse(result) ? result : jsonResponse(result, [], status);
}

/** No JSON document of the API has all three. */
function isResponse(result: unknown): result is Response {
  return (
    typeof result === 'object' &&
    result !== null &&
    'status' in result &&
    'headers' in result &&
    'body' in result
  );
}

/** Finds dry runs: `dryRun` is a field of the body or, if the body has none, of the query. */
function asksOnly({ asksOnly: always, query, body }: Shape): Pick<Route, 'asksOnly'> {
  if (always) return { asksOnly: () => true };
  if (body && 'shape' in body && 'dryRun' in (body.shape as object)) return { asksOnly: isDryRun };
  if (!query || !('dryRun' in query.shape)) return {};
  return { asksOnly: (context) => (readQuery(context, query) as { dryRun?: boolean }).dryRun === true };
}
