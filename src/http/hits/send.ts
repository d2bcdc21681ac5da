import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { httpDate } from '../../lib/http-date.ts';
import { isEncrypted } from '../auth/peer.ts';
import type { Context } from '../context.ts';
import type { RequestHead } from '../request-head.ts';
import {
  checkedLines,
  type Headers,
  isPrepared,
  type PreparedResponse,
  pairs,
  type Response,
} from '../response.ts';

/** For responses that pages of other sites may read: tiles, documents about them, and errors of both. */
export const SHARED_HEADERS = pairs({
  'X-Content-Type-Options': 'nosniff',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
});

const OWN_HEADERS = pairs({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
});

/** RFC 6797: a client that came by https uses nothing else for a year. */
const BY_TLS: Headers = ['Strict-Transport-Security', 'max-age=31536000'];

/** RFC 9110, 12.5.5: a response for one caller is not for the next, not even in the same browser. */
const BY_CALLER = 'Authorization, Cookie';
/** A cache may use a response whose addresses follow these headers only for requests with the same ones. */
const BY_ADDRESS = 'Host, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix';

/** Sent unless the response has its own. */
const OWN_DEFAULTS: readonly (readonly [string, string])[] = [
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** The pending request on a connection of the front (`front.ts`), and how to respond. */
export interface FrontReply {
  readonly req: RequestHead;
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  destroy(): void;
  /** Sends the whole response, head included. */
  send(content: PreparedResponse | Buffer): void;
}

export type Reply = ServerResponse | FrontReply;

/** `sharing`: the route's setting for cross-origin pages. */
type Sender = (reply: Reply, answer: Response, context: Context, sharing: 'anyone' | undefined) => void;

/** `streamSignal` ends bodies that are streamed. */
export function createSender(
  outbox: Outbox,
  streamSignal: (context: Context, response: ServerResponse) => AbortSignal,
): Sender {
  return (reply, answer, context, sharing) => {
    if (reply instanceof ServerResponse) sendByNode(reply, answer, context, sharing);
    else reply.send(isComplete(answer, context, sharing) ? answer : wholeBytes(answer, context, sharing));
  };

  function sendByNode(
    response: ServerResponse,
    answer: Response,
    context: Context,
    sharing: 'anyone' | undefined,
  ): void {
    const { status, body } = answer;
    const headers = headersOf(answer, context, sharing);
    if (isEncrypted(response.req.socket)) headers.push(...BY_TLS);
    const isHead = response.req.method === 'HEAD';
    if (typeof body === 'function') {
      response.writeHead(status, headers);
      if (isHead) response.end();
      if (!isHead) body(response, streamSignal(context, response));
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    addLength(headers, status, bytes);
    response.writeHead(status, headers);
    outbox.add({
      writeOut() {
        if (!response.destroyed) response.end(isHead ? undefined : (bytes ?? undefined));
      },
    });
  }
}

/** Whether the response needs no headers besides its own. */
function isComplete(
  answer: Response,
  { audience, followsAddress, headers }: Context,
  sharing: 'anyone' | undefined,
): answer is PreparedResponse {
  if (!isPrepared(answer) || sharing !== 'anyone' || audience !== 'all' || followsAddress) return false;
  return answer.variesByKey || headers['x-api-key'] === undefined;
}

/** The same bytes as from `node:http`, for an HTTP/1.1 client whose connection stays open. */
function wholeBytes(answer: Response, context: Context, sharing: 'anyone' | undefined): Buffer {
  const { status, body } = answer;
  if (typeof body === 'function') throw new Error('The response of a tile service is a stream.');
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = headersOf(answer, context, sharing);
  headers.push('Date', httpDate(Date.now()));
  addLength(headers, status, bytes);
  const head = Buffer.from(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${checkedLines(headers)}\r\n`,
    'latin1',
  );
  return bytes === null ? head : Buffer.concat([head, bytes]);
}

/** RFC 9110, 8.6: a 204 must not have the length of a body that it lacks; nor has a 304 of ours. */
function addLength(headers: string[], status: number, bytes: Buffer | null): void {
  if (status !== 304 && status !== 204) headers.push('Content-Length', String(bytes?.length ?? 0));
}

function headersOf({ status, headers }: Response, context: Context, sharing: 'anyone' | undefined): string[] {
  const { audience } = context;
  if (sharing !== 'anyone' || audience === 'caller') return ownHeaders(headers, context);
  const shared = [...headers, ...SHARED_HEADERS];
  if (status >= 400) shared.push('X-Request-Id', context.id);
  vary(shared, context);
  if (context.headers['x-api-key'] !== undefined) addVary(shared, 'X-Api-Key');
  return shared;
}

function vary(headers: string[], { audience, followsAddress }: Context): void {
  if (audience !== 'all') addVary(headers, BY_CALLER);
  if (followsAddress) addVary(headers, BY_ADDRESS);
}

/** Extends the last `Vary` header: nginx before 1.23 obeys no other. */
function addVary(headers: string[], names: string): void {
  const at = headers.lastIndexOf('Vary') + 1;
  if (at === 0) headers.push('Vary', names);
  else if (headers[at] !== names) headers[at] = `${headers[at]}, ${names}`;
}

function ownHeaders(given: Headers, context: Context): string[] {
  const headers = [...given, 'X-Request-Id', context.id, ...OWN_HEADERS];
  for (const [name, value] of OWN_DEFAULTS) {
    if (!given.includes(name)) headers.push(name, value);
  }
  vary(headers, context);
  return headers;
}

/** Responses that may wait in the outbox: more would delay the first. */
const MAX_WAITING = 32;

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Responses of one turn of the event loop are written together at its end, so that a proxy or client on the same machine
 * is woken once, not for each: waking it costs more than making a response.
 */
export function createOutbox() {
  let waiting: { writeOut(): void }[] = [];

  function empty(): void {
    const ready = waiting;
    waiting = [];
    for (const outgoing of ready) outgoing.writeOut();
  }

  return {
    add(outgoing: { writeOut(): void }): void {
      if (waiting.length === 0) setImmediate(empty);
      waiting.push(outgoing);
      if (waiting.length >= MAX_WAITING) empty();
    },
  };
}

/** Larger responses are written in two pieces: copying them costs more than a second piece. */
const SPACE_BYTES = 32 * 1024;

/** Copies head and body into one buffer for all connections. Unless the system accepts all bytes, a new one replaces it. */
export function createWholeWriter(): (socket: Socket, answer: PreparedResponse) => void {
  let space = Buffer.allocUnsafeSlow(SPACE_BYTES);
  return (socket, answer) => {
    const { body } = answer;
    const headLength = answer.writeHead(space);
    const length = headLength + body.length;
    if (length <= SPACE_BYTES) {
      body.copy(space, headLength);
      socket.write(space.subarray(0, length));
    } else {
      socket.cork();
      socket.write(space.subarray(0, headLength));
      socket.write(body);
      socket.uncork();
    }
    if (socket.writableLength > 0) space = Buffer.allocUnsafeSlow(SPACE_BYTES);
  };
}
