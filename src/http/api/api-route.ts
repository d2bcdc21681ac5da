/**
 * A route of the administrative interface is one entry of a table (`api-routes.ts`, `gwc-routes.ts`):
 *
 *     route('PUT /api/v1/users/{name}', 'admin', 'Change a user',
 *       { body: userChangesBody, answer: userResponse, target: 'user:{name}' }, changeUser)
 *
 * The entry is the description: the dispatcher takes method, path and role from it, query and body are parsed by its
 * schemas before the handler runs, and the OpenAPI document, the console's types and the tests of rights and bodies are
 * derived from it. A handler is a function of the call (`Call<{ body: typeof userChangesBody; params: 'name' }>`) and of
 * `ApiDeps`. It returns
 *
 * - a value, which is answered as JSON with the status of the entry;
 * - nothing: 204;
 * - a `Response`, where the status differs (dry runs), there are headers, or the content is not JSON.
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

/** An entry's options besides name, role, summary and handler. */
export interface Shape extends Omit<RouteDescription, 'summary'> {
  /** Names of the query that may be given more than once. */
  readonly repeatable?: readonly string[];
  /** The handler reads query and body: a signature comes first, or the body has several forms. */
  readonly raw?: true;
  /** Changes nothing, though it is a `POST`, and leaves no trace in the audit log. */
  readonly asksOnly?: true;
  /** For the audit log, unless the handler notes another: e.g. `user:{name}`, from the path; `{caller}` is the caller's name. */
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

/** A parsed request. */
export interface Call<S extends CallShape = object> {
  readonly context: Context;
  /** Not on public routes. */
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
  /** E.g. `GET /api/v1/tasks`; in the path as in `Route`. */
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
    answerWith(await handler(readCall(context, shape) as Parameters<typeof handler>[0], deps), shape);
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

function readCall(context: Context, shape: Shape): Call {
  const note = (change: ChangeNote) => {
    context.change = change;
  };
  if (shape.target) note({ target: auditTarget(shape.target, context) });
  const query = readQueryBy(context, shape);
  return {
    context,
    get caller() {
      if (context.caller) return context.caller;
      throw new Error('A public route does not ask who is calling');
    },
    params: context.params,
    query,
    body: shape.body && !shape.raw ? checkBody(readJson(context), shape.body) : null,
    note,
  };
}

/** With a body, undeclared query parameters are refused: a `dryRun` there would be ignored. */
function readQueryBy(context: Context, { query, body, repeatable, raw }: Shape): object {
  const schema = query ?? (body && NO_QUERY);
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

/** `dryRun` is in the body or, if the body has no such field, in the query. */
function asksOnly({ asksOnly: always, query, body }: Shape): Pick<Route, 'asksOnly'> {
  if (always) return { asksOnly: () => true };
  if (body && 'shape' in body && 'dryRun' in (body.shape as object)) return { asksOnly: isDryRun };
  if (!query || !('dryRun' in query.shape)) return {};
  return { asksOnly: (context) => (readQuery(context, query) as { dryRun?: boolean }).dryRun === true };
}
