/**
 * Reads requests for tiles from new connections of a server, faster than `node:http`. It accepts one kind of request: a chunk
 * that is a complete `GET` of HTTP/1.1 with known headers, on a connection without an unanswered request. With anything
 * else the connection is handed over to `node:http` for good, with all unanswered bytes.
 *
 * | state of a connection | a request for a tile | other bytes | the client closes its side |
 * | --- | --- | --- | --- |
 * | waiting | answered: answering | to `node:http` | closed |
 * | answering | buffered: to `node:http` after the response | the same | closed after the response |
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Connection, connectionOf } from '../context.ts';
import type { HttpLimits } from '../limits.ts';
import { type HeaderBlock, type RequestHead, readHeaders, readTarget } from '../request-head.ts';
import type { PreparedResponse } from '../response.ts';
import { createWholeWriter, type FrontReply, type Outbox } from './send.ts';

/** Longer heads are left to `node:http`. */
const MAX_HEAD_BYTES = 4096;

interface FrontOptions {
  readonly limits: HttpLimits;
  readonly outbox: Outbox;
  /** Responds now or later. False: the request is not for the front. */
  answer(reply: FrontReply): boolean;
}

export function openFront(server: Server, options: FrontOptions) {
  const { limits } = options;
  const nodeListeners = server.listeners('connection');
  const connections = new Set<FrontConnection>();
  const write = createWholeWriter();
  const toNode = (socket: Socket) => {
    for (const listener of nodeListeners) listener.call(server, socket);
  };
  const timedOut = (socket: Socket) => {
    const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', error, socket);
  };
  const deps: ConnectionDeps = {
    ...options,
    maxHeadBytes: Math.min(MAX_HEAD_BYTES, limits.headerSize - 1),
    connections,
    write,
    toNode,
    timedOut,
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket) => connections.add(new FrontConnection(socket, deps)));

  return {
    /** Closes connections that have had a request and wait for the next. */
    closeIdle(): void {
      for (const connection of connections) if (connection.isIdle) connection.destroy();
    },
    closeAll(): void {
      for (const connection of connections) connection.destroy();
    },
  };
}

interface ConnectionDeps extends FrontOptions {
  readonly maxHeadBytes: number;
  readonly connections: Set<FrontConnection>;
  readonly write: (socket: Socket, answer: PreparedResponse) => void;
  readonly toNode: (socket: Socket) => void;
  /** The first request has not arrived in time. */
  readonly timedOut: (socket: Socket) => void;
}

class FrontConnection implements FrontReply {
  readonly #socket: Socket;
  readonly #connection: Connection;
  readonly #deps: ConnectionDeps;
  readonly #listeners = Object.entries({
    data: (chunk: Buffer) => this.#receive(chunk),
    end: () => this.#halfClosed(),
    timeout: () => this.#giveUp(),
    error: () => this.destroy(),
    close: () => this.#leave(),
  });
  /** Headers of the last request: many clients repeat them. */
  #block: HeaderBlock | null = null;
  /** The unanswered request. */
  #request: RequestHead | null = null;
  #content: PreparedResponse | Buffer | null = null;
  /** Bytes that arrived before the response was written. */
  #early: Buffer | null = null;
  #ended = false;
  #halfClosedTimer: NodeJS.Timeout | null = null;

  constructor(socket: Socket, deps: ConnectionDeps) {
    this.#socket = socket;
    this.#connection = connectionOf(socket);
    this.#deps = deps;
    socket.setTimeout(deps.limits.headersTimeout);
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
  }

  get req(): RequestHead {
    if (this.#request) return this.#request;
    throw new Error('The request is answered already.');
  }

  get destroyed(): boolean {
    return this.#socket.destroyed;
  }

  get headersSent(): boolean {
    return this.#content !== null || this.#request === null;
  }

  get isIdle(): boolean {
    return this.#connection.used && this.#request === null && this.#socket.writableLength === 0;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  send(content: PreparedResponse | Buffer): void {
    this.#content = content;
    this.#deps.outbox.add(this);
  }

  writeOut(): void {
    const content = this.#content;
    this.#content = null;
    this.#request = null;
    if (this.#socket.destroyed || content === null) return;
    if (Buffer.isBuffer(content)) this.#socket.write(content);
    else this.#deps.write(this.#socket, content);
    if (this.#early) this.#handOver(this.#early);
    else if (this.#ended) this.#socket.end();
  }

  #receive(chunk: Buffer): void {
    if (this.#request) {
      this.#early = chunk;
      this.#socket.pause();
      return;
    }
    // A client that does not read is left to `node:http`, which then stops reading from it.
    const request = this.#socket.writableLength === 0 ? this.#read(chunk) : null;
    this.#request = request;
    if (request && this.#deps.answer(this)) this.#accept();
    else this.#handOver(chunk);
  }

  #read(chunk: Buffer): RequestHead | null {
    if (chunk.length > this.#deps.maxHeadBytes) return null;
    const text = chunk.toString('latin1');
    const lineEnd = text.indexOf('\r\n');
    const url = readTarget(text, lineEnd);
    if (url === null) return null;
    const headerText = text.slice(lineEnd + 2);
    if (headerText !== this.#block?.text) this.#block = readHeaders(headerText);
    if (!this.#block) return null;
    const { headers, rawHeaders } = this.#block;
    return { method: 'GET', url, httpVersion: '1.1', headers, rawHeaders, socket: this.#socket };
  }

  #accept(): void {
    if (this.#connection.used) return;
    this.#connection.used = true;
    this.#socket.setTimeout(this.#deps.limits.idleTimeout);
  }

  /** Final: from here on `node:http` reads the connection. */
  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#request = null;
    this.#leave();
    for (const [event, listener] of this.#listeners) socket.off(event, listener);
    socket.pause();
    socket.unshift(bytes);
    this.#deps.toNode(socket);
    socket.resume();
  }

  #halfClosed(): void {
    this.#ended = true;
    if (this.#request === null) {
      this.#socket.end();
      return;
    }
    // The client may have left; see `answerHalfClosed` in `http/server.ts`.
    this.#halfClosedTimer = setTimeout(() => {
      if (!this.headersSent) this.destroy();
    }, this.#deps.limits.halfClosedTimeout);
  }

  #giveUp(): void {
    if (this.#connection.used) this.destroy();
    else this.#deps.timedOut(this.#socket);
  }

  #leave(): void {
    this.#deps.connections.delete(this);
    if (this.#halfClosedTimer) clearTimeout(this.#halfClosedTimer);
  }
}
