import type { paths } from '../api-types.ts';
import { TEXTS } from '../texts.ts';

type Content<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses]: Responses[Status] extends { content: { 'application/json': infer Body } }
        ? Body
        : never;
    }[keyof Responses]
  : never;

/** What the server answers to `GET` of a path. */
export type Answer<Path extends keyof paths> = paths[Path] extends { get: infer Operation }
  ? Content<Operation>
  : never;

/** A failure as the server told it, or that it could not be asked. */
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

/** Relative to the page, so that it works below any prefix. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask('GET', path, undefined, signal)) as T;
}

export async function send<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
  return (await ask(method, path, body)) as T;
}

/** For what GeoWebCache's clients send as forms. */
export async function sendForm(path: string, fields: Readonly<Record<string, string>>): Promise<void> {
  await reach(path, { method: 'POST', body: new URLSearchParams(fields) });
}

async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  const answer = await reach(path, {
    method,
    cache: 'no-store',
    ...(signal && { signal }),
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return answer.status === 204 ? null : answer.json();
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new Problem(TEXTS.errors.unreachable, 0, null);
  });
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = (await answer.text()).trim().slice(0, 1000);
  if (answer.status === 401) dispatchEvent(new Event('tilewarden-signed-out'));
  return new Problem(text || answer.statusText, answer.status, answer.headers.get('x-request-id'));
}

/** A layer's name may hold anything. */
export function part(text: string): string {
  return encodeURIComponent(text);
}
