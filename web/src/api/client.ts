import type { ApiBody, ApiRequest, ApiResponse } from '../../../src/http/api/api-routes.ts';
import { TEXTS } from '../texts.ts';

type PathOf<Request> = Request extends `GET ${infer Path}` ? Path : never;

/** What the server answers to `GET` of a path. */
export type Answer<Path extends PathOf<ApiRequest>> = ApiResponse<`GET ${Path}`>;
/** The same for any request. */
export type Reply<Request extends ApiRequest> = ApiResponse<Request>;
/** What the server reads, e.g. `POST /api/v1/tasks`. */
export type Body<Request extends ApiRequest> = ApiBody<Request>;

/** A failure reported by the server, or that it could not be reached. */
export class Problem extends Error {
  /** 0: there was no answer. */
  readonly status: number;
  readonly requestId: string | null;

  constructor(message: string, status: number, requestId: string | null) {
    super(message);
    this.name = 'Problem';
    this.status = status;
    this.requestId = requestId;
  }
}

export function problemFrom(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(error instanceof Error ? error.message : String(error), 0, null);
}

/** The server has judged the request, and another try would end the same. */
export function isRefusal({ status }: Problem): boolean {
  return status >= 400 && status < 500;
}

/** What was answered, and the version it has; null where the server gives none. */
export interface Versioned<T> {
  readonly data: T;
  readonly version: string | null;
}

export interface SendOptions {
  readonly signal?: AbortSignal;
  /** The version that a change is meant for: another one is refused with status 412. */
  readonly version?: string | null;
}

/** Relative to the page, so that it works below any prefix. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask<T>('GET', path, undefined, signal && { signal })).data;
}

export async function send<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: Body<ApiRequest>,
  options?: SendOptions,
): Promise<T> {
  return (await ask<T>(method, path, body, options)).data;
}

export async function ask<T>(
  method: string,
  path: string,
  body?: unknown,
  { signal, version }: SendOptions = {},
): Promise<Versioned<T>> {
  const headers = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(version && { 'if-match': version }),
  };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await reach(path, {
    method,
    cache: 'no-store',
    headers,
    ...content,
    ...(signal && { signal }),
  });
  const data = answer.status === 204 ? null : await answer.json();
  return { data: data as T, version: answer.headers.get('etag') };
}

/** Rejects with a `Problem`, unless the signal was aborted. */
export async function reach(path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new Problem(TEXTS.errors.unreachable, 0, null);
  });
  if (answer.ok) return answer;
  const text = (await answer.text()).trim().slice(0, 1000);
  // The answer to a wrong password is the form's own business.
  if (answer.status === 401 && path !== SESSION_PATH) dispatchEvent(new Event(SESSION_ENDED));
  throw new Problem(text || answer.statusText, answer.status, answer.headers.get('x-request-id'));
}

/** A layer's name may hold anything. */
export function part(text: string): string {
  return encodeURIComponent(text);
}

export const SESSION_PATH = 'api/v1/session';
/** Events of the window. */
export const SESSION_ENDED = 'tilewarden-session-ended';
export const SESSION_BEGUN = 'tilewarden-session-begun';
