import { type IncomingMessage, ServerResponse } from 'node:http';
import { isEncrypted } from '../auth/peer.ts';
import type { Context } from '../context.ts';
import { type Headers, isPrepared, type PreparedResponse, pairs, type Response } from '../response.ts';

/** For answers that pages of other sites may read: tiles, their descriptions, and what goes wrong with them. */
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

/** RFC 6797: a client that came by https once uses nothing else for a year. */
const BY_TLS: Headers = ['Strict-Transport-Security', 'max-age=31536000'];

/** RFC 9110, 12.5.5: a response for one caller is not for the next, not even in the same browser. */
const BY_CALLER = 'Authorization, Cookie';
/** A cache may keep a response whose addresses follow these headers for requests with the same ones only. */
const BY_ADDRESS = 'Host, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix';

/** Given unless the answer says otherwise. */
const OWN_DEFAULTS: readonly (readonly [string, string])[] = [
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** `sharing`: the route's setting for cross-origin pages. */
type Sender = (
  response: ServerResponse,
  answer: Response,
  context: Context,
  sharing: 'anyone' | undefined,
) => void;

/** `streamSignal` ends bodies that are streamed. */
export function createSender(
  streamSignal: (context: Context, response: ServerResponse) => AbortSignal,
): Sender {
  const outbox = createOutbox();
  return (response, answer, context, sharing) => {
    const { status, body } = answer;
    const toAll = sharing === 'anyone' && context.audience === 'all' && !context.followsAddress;
    const byTls = isEncrypted(response.req.socket);
    if (toAll && !byTls && isPrepared(answer) && isTakenWhole(response, answer)) {
      outbox.whole(response, answer);
      return;
    }
    const headers = headersOf(answer, context, sharing);
    if (byTls) headers.push(...BY_TLS);
    const toHead = response.req.method === 'HEAD';
    if (typeof body === 'function') {
      response.writeHead(status, headers);
      if (toHead) response.end();
      if (!toHead) body(response, streamSignal(context, response));
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    // RFC 9110, 8.6: neither a 204 nor, in our case, a 304 says how long a body it does not have would be.
    if (status !== 304 && status !== 204) headers.push('Content-Length', String(bytes?.length ?? 0));
    response.writeHead(status, headers);
    outbox.end(response, toHead || bytes === null ? undefined : bytes);
  };
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

/** In the last line of that name: nginx before 1.23 obeys no other. */
function addVary(headers: string[], names: string): void {
  const at = headers.lastIndexOf('Vary') + 1;
  if (at === 0) headers.push('Vary', names);
  else headers[at] = `${headers[at]}, ${names}`;
}

function ownHeaders(given: Headers, context: Context): string[] {
  const headers = [...given, 'X-Request-Id', context.id, ...OWN_HEADERS];
  for (const [name, value] of OWN_DEFAULTS) {
    if (!hasHeader(given, name)) headers.push(name, value);
  }
  vary(headers, context);
  return headers;
}

function hasHeader(headers: Headers, name: string): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === name) return true;
  }
  return false;
}

/** So many wait at most: the first does not wait for all that follow. */
const MAX_WAITING = 32;

/**
 * Answers of one turn of the event loop are written in one go at its end. A proxy or client on the same machine is
 * then woken once for all of them, not for each: waking it costs more than making an answer does.
 */
export function createOutbox() {
  const sendWhole = createWholeSender();
  let waiting: [ServerResponse, Buffer | undefined | PreparedResponse][] = [];

  function empty(): void {
    const ready = waiting;
    waiting = [];
    for (const [response, content] of ready) {
      if (response.destroyed) continue;
      if (content === undefined || Buffer.isBuffer(content)) response.end(content);
      else sendPrepared(response as WholeResponse, content);
    }
  }

  function sendPrepared(response: WholeResponse, answer: PreparedResponse): void {
    if (sendWhole(response, answer)) return;
    const { status, headers, body } = answer;
    response.writeHead(status, [...headers, ...SHARED_HEADERS, 'Content-Length', String(body.length)]);
    response.end(body);
  }

  function add(response: ServerResponse, content: Buffer | undefined | PreparedResponse): void {
    if (waiting.length === 0) setImmediate(empty);
    waiting.push([response, content]);
    if (waiting.length >= MAX_WAITING) empty();
  }

  return { end: add, whole: add };
}

/**
 * A response that can also be sent as one piece of bytes, head included, which costs a third less than `writeHead` and `end`.
 * As with those, `finish` tells the server that everything was handed to the operating system: it then goes on with
 * the connection.
 */
export class WholeResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** Whether an answer that does not mention the connection is understood: it stays open. */
  get takesWhole(): boolean {
    const { method, httpVersion } = this.req;
    return this.shouldKeepAlive && method === 'GET' && httpVersion === '1.1';
  }

  /** Whether it was this one's turn to be sent, and `bytes` may be written over. Only when `takesWhole`. */
  sendWhole(bytes: Buffer): 'sent' | 'pending' | 'not-now' {
    const { socket } = this;
    if (!socket?.writable) return 'not-now';
    this.finished = true;
    socket.write(bytes, (error) => {
      if (!error) this.emit('finish');
    });
    return socket.writableLength === 0 ? 'sent' : 'pending';
  }
}

/** Larger responses are sent in the usual way: the saving is small beside their bytes. */
const LARGEST = 32 * 1024;

function isTakenWhole(response: ServerResponse, answer: PreparedResponse): response is WholeResponse {
  return answer.body.length <= LARGEST && response instanceof WholeResponse && response.takesWhole;
}

/** Returns false when nothing was sent: it is too long, another answer on the connection comes first, or the client has gone. */
type WholeSender = (response: WholeResponse, answer: PreparedResponse) => boolean;

/** All answers are put together in one buffer; one that the system does not take completely keeps it. */
function createWholeSender(): WholeSender {
  let space = Buffer.allocUnsafeSlow(LARGEST);
  return (response, answer) => {
    const { body } = answer;
    const headLength = answer.writeHead(space);
    const length = headLength + body.length;
    if (length > LARGEST) return false;
    body.copy(space, headLength);
    const outcome = response.sendWhole(space.subarray(0, length));
    if (outcome === 'pending') space = Buffer.allocUnsafeSlow(LARGEST);
    return outcome !== 'not-now';
  };
}
