import type { ApiBody, ApiRequest } from '../../../src/http/api/api-routes.ts';
import { TEXTS } from '../texts.ts';

export type { ApiBody, ApiRequest, ApiResponse } from '../../../src/http/api/api-routes.ts';

/** A failure that the server has reported, or an unreachable server. */
export class Problem extends Error {
  /** HTTP status; 0 without a response. */
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

/** Whether a retry would fail in the same way. */
export function isRefusal({ status }: Problem): boolean {
  return status >= 400 && status < 500;
}

/** A response and its version (`ETag`); null if the server sent none. */
export interface Versioned<T> {
  readonly data: T;
  readonly version: string | null;
}

export interface SendOptions {
  readonly signal?: AbortSignal;
  /** The version that the request changes; the server refuses another one with status 412. */
  readonly version?: string | null;
}

/** `path` is relative to the page, so that it works below any prefix. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await fetchJson<T>('GET', path, undefined, signal && { signal })).data;
}

export async function send<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: ApiBody<ApiRequest>,
  options?: SendOptions,
): Promise<T> {
  return (await fetchJson<T>(method, path, body, options)).data;
}

export async function fetchJson<T>(
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
  const init = { method, cache: 'no-store', headers, ...content, ...(signal && { signal }) } as const;
  const response = await reach(path, init);
  const data = response.status === 204 ? null : await response.json();
  return { data: data as T, version: response.headers.get('etag') };
}

/** Rejects with a `Problem`, unless the signal was aborted. */
export async function reach(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new Problem(TEXTS.errors.unreachable, 0, null);
  });
  if (response.ok) return response;
  const text = (await response.text()).trim().slice(0, 1000);
  // A 401 of the sign-in itself is a wrong password, not the end of a session.
  if (response.status === 401 && path !== SESSION_PATH) dispatchEvent(new Event(SESSION_ENDED));
  throw new Problem(text || response.statusText, response.status, response.headers.get('x-request-id'));
}

/** Encodes a part of a path, such as a layer's name, which may contain any character. */
export function part(text: string): string {
  return encodeURIComponent(text);
}

export const SESSION_PATH = 'api/v1/session';
/** Events of the window. */
export const SESSION_ENDED = 'tilewarden-session-ended';
export const SESSION_BEGUN = 'tilewarden-session-begun';

/** The command for a request, with the server's address as this browser uses it. */
export function curl(method: string, path: string, body?: unknown): string {
  const address = new URL(path, location.href.split('#')[0]).href;
  const call = `curl -u NAME:PASSWORD ${method === 'GET' ? '' : `-X ${method} `}${quoted(address)}`;
  if (body === undefined) return call;
  if (body instanceof URLSearchParams) return `${call} -d ${quoted(body.toString())}`;
  return [
    `${call} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join('\n');
}

/** Quotes a text as one word for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export const RELOAD_FORM = new URLSearchParams({ reload_configuration: '1' });
/** The first sentence of the response, which is meant for GeoWebCache's clients. */
const THEIRS = /^TileLayerConfiguration reloaded\. Read \d+ layers from configuration resources\.\s*/;

/** Reloads by GeoWebCache's interface, which responds with a page; returns its text. */
export async function reloadConfiguration(): Promise<string> {
  try {
    const text = textIn(await (await reach('rest/reload', { method: 'POST', body: RELOAD_FORM })).text());
    return `${TEXTS.layers.reloaded} ${text.replace(THEIRS, '')}`;
  } catch (error) {
    const { message, status, requestId } = problemFrom(error);
    throw new Problem(textIn(message), status, requestId);
  }
}

function textIn(page: string): string {
  const { body } = new DOMParser().parseFromString(page, 'text/html');
  const lines = [...body.querySelectorAll('p, li')].map((line) => line.textContent?.trim());
  return lines.length > 0 ? lines.join(' ') : (body.textContent?.trim() ?? '');
}
