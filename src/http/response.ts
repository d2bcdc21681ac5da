import { type ServerResponse, validateHeaderValue } from 'node:http';
import { writeJson } from '../lib/write-json.ts';

/** Names and values alternate: the form that costs least to send. */
export type Headers = readonly string[];

/** Writes the body in pieces and ends the response, at the latest when the signal aborts. */
export type Streamer = (response: ServerResponse, signal: AbortSignal) => void;

export interface Response {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer | string | null | Streamer;
  /** For the access log; absent: `X-Cache` of the headers. */
  readonly cache?: string;
}

/** Writes its own head, with status 200 and headers for pages of other sites. */
export interface PreparedResponse extends Response {
  readonly body: Buffer;
  /** Its headers contain `Vary: X-Api-Key`. */
  readonly variesByKey: boolean;
  /** Writes status line, headers and empty line, as far as there is room. Returns their length in bytes. */
  writeHead(target: Buffer): number;
}

export function isPrepared(answer: Response): answer is PreparedResponse {
  return 'writeHead' in answer;
}

const NO_HEADERS: Headers = [];

export function pairs(fields: Readonly<Record<string, string>>): Headers {
  return Object.entries(fields).flat();
}

/** Header lines to send. Not for values from a client or administrator: see `checkedLines`. */
export function joinHeaders(headers: Headers): string {
  let lines = '';
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return lines;
}

/** Throws for a value that must not be in a header. */
export function checkedLines(headers: Headers): string {
  for (let i = 0; i < headers.length; i += 2) validateHeaderValue(headers[i] ?? '', headers[i + 1] ?? '');
  return joinHeaders(headers);
}

export function withHeaders({ status, headers, body }: Response, more: Headers): Response {
  return { status, headers: [...headers, ...more], body };
}

export function contentResponse(
  type: string,
  body: Response['body'],
  headers: Headers = NO_HEADERS,
): Response {
  return { status: 200, headers: ['Content-Type', type, ...headers], body };
}

export function textResponse(status: number, text: string, headers: Headers = NO_HEADERS): Response {
  return { status, headers: ['Content-Type', 'text/plain; charset=utf-8', ...headers], body: text };
}

export function jsonResponse(value: unknown, headers: Headers = NO_HEADERS, status = 200): Response {
  return {
    status,
    headers: ['Content-Type', 'application/json', ...headers],
    body: writeJson(value),
  };
}

/** Redirects to the path with a slash. The address is relative, for proxies that add a prefix. */
export function slashAdded(path: string): Response {
  return { status: 308, headers: ['Location', `${path.slice(path.lastIndexOf('/') + 1)}/`], body: null };
}

export const NOTHING: Response = { status: 204, headers: [], body: null };
