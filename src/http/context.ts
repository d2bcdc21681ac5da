import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { accountOf, type Caller } from '../access/caller.ts';
import type { Layer } from '../domain/layer.ts';
import { hideKeys } from '../lib/hide-secrets.ts';
import type { TaskAuthor } from '../tasks/task-draft.ts';
import type { Access } from './auth/access.ts';
import { ownAddress, type TrustsProxy } from './auth/peer.ts';
import type { KeyMemory, PresentedKey } from './auth/reader-key.ts';
import { cameBySecureWay, credentialsNeeded, credentialsOf, sourceAddress } from './auth/request-checks.ts';
import type { HttpProblem } from './problems.ts';
import type { RequestHead } from './request-head.ts';
import { jsonResponse, type Response } from './response.ts';

export type PathParams = Readonly<Record<string, string>>;

/** The target of a request. Requests with the same address may share one. */
export interface Target {
  /** Not decoded, without the query. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly prefix: string;
  readonly params: PathParams;
}

export interface ContextDeps {
  readonly trusts: TrustsProxy;
  readonly access: Access;
  /** The server's address for clients, without a trailing slash; null: the one that each request names. */
  readonly publicUrl: string | null;
  /** The access setting of a layer; null: no such layer. */
  readonly accessOf: (layer: string) => Layer['access'] | null;
  /** Distinguishes the request ids of this run from those of earlier runs. */
  readonly idPrefix: string;
}

/** A handler's entry for the audit log. No secrets. */
export interface ChangeNote {
  /** E.g. `user:mary`. */
  readonly target?: string;
  /** In words, e.g. `started a seed of roads`. */
  readonly summary?: string;
  readonly before?: unknown;
  readonly after?: unknown;
  /** Counts as a change by an administrator; see `AuditDraft`. */
  readonly administrative?: true;
}

const NO_BODY = Buffer.alloc(0);
const NO_CHANGE: ChangeNote = {};

/** A request as handlers see it, and what they and the checks before them report about it. */
export class Context {
  readonly target: Target;
  readonly connection: Connection;
  /** Null on public routes, and before authentication. */
  caller: Caller | null = null;
  body: Buffer = NO_BODY;
  /** Set by the handler before it responds. */
  change: ChangeNote = NO_CHANGE;
  /** Who may read the response. `varies`: it depends on the caller. `caller`: only this one, never pages of other sites. */
  audience: 'all' | 'varies' | 'caller' = 'all';
  /** The response has addresses that depend on headers of the request. */
  followsAddress = false;
  /** `performance.now()`; only with an access log. */
  begunAt = 0;
  /** The caller that `identify` found on a public route. */
  identified: Caller | null = null;
  /** On tile services: the key of the request. */
  key: PresentedKey | null = null;
  /** Names of the areas in which the caller's account sees closed layers; null: everywhere. */
  areas: readonly string[] | null = null;
  /** Query pairs that look like keys and are parameters of the layer. */
  released = '';
  readonly #request: RequestHead;
  readonly #number: number;
  readonly #deps: ContextDeps;

  constructor(request: RequestHead, target: Target, number: number, deps: ContextDeps) {
    this.target = target;
    this.connection = connectionOf(request.socket);
    this.#request = request;
    this.#number = number;
    this.#deps = deps;
  }

  /** A copy for the same caller with another target. */
  towards(target: Target): Context {
    const other = new Context(this.#request, target, this.#number, this.#deps);
    other.caller = this.caller;
    return other;
  }

  get path(): string {
    return this.target.path;
  }

  get query(): string {
    const { query } = this.target;
    if (this.released === '') return query;
    return query === '' ? this.released : `${query}&${this.released}`;
  }

  get params(): PathParams {
    return this.target.params;
  }

  get id(): string {
    return `${this.#deps.idPrefix}-${this.#number.toString(36)}`;
  }

  get method(): string {
    return this.#request.method ?? '';
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** The base URL of this server as the caller sees it, prefix included, without a trailing slash. */
  get baseUrl(): string {
    const { publicUrl, trusts } = this.#deps;
    if (publicUrl !== null) return `${publicUrl}${this.target.prefix}`;
    this.followsAddress = true;
    return ownAddress(this.#request, this.target.prefix, trusts);
  }

  get source(): string {
    return sourceAddress(this.#request, this.#deps.trusts);
  }

  get secure(): boolean {
    return cameBySecureWay(this.#request, this.#deps.trusts);
  }

  accessOf(layer: string): Layer['access'] | null {
    return this.#deps.accessOf(layer);
  }

  /** The caller, on public routes too; null if the credentials are missing or wrong. */
  async identify(): Promise<Caller | null> {
    const { access, trusts } = this.#deps;
    if (this.caller) return this.caller;
    this.identified = await access.authenticate(credentialsOf(this.#request, trusts, access));
    return this.identified;
  }

  /** Whether the caller is still authenticated as before. */
  async callerStillHolds(): Promise<boolean> {
    const { access, trusts } = this.#deps;
    return (
      this.caller === null || access.stillHolds(credentialsOf(this.#request, trusts, access), this.caller)
    );
  }

  /** To be thrown when the caller must authenticate. */
  credentialsNeeded(): HttpProblem {
    return credentialsNeeded(this.#request);
  }

  get signal(): AbortSignal {
    return this.connection.signal;
  }
}

export class Connection implements KeyMemory {
  /** Responses leave in the order of the requests; this is the latest one. */
  lastResponse: ServerResponse | null = null;
  /** The connection has had an earlier request. */
  used = false;
  /** The last valid `Host`. */
  host: string | null = null;
  key: KeyMemory['key'] = null;
  readonly #socket: Socket;
  #signal: AbortSignal | null = null;
  /** Requests without a finished response. */
  #underWay = 0;
  readonly #waiting: ServerResponse[] = [];
  #begin: (response: ServerResponse) => void = () => {};
  #most = 0;
  /** One for all responses: a listener for each would cost as much as finding the tile. */
  readonly #onClose = () => {
    this.#underWay--;
    this.#beginNext();
  };

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Calls `begin` now, or when fewer than `most` responses are pending. */
  beginInTurn(response: ServerResponse, begin: (response: ServerResponse) => void, most: number): void {
    this.#begin = begin;
    this.#most = most;
    this.#waiting.push(response);
    this.#beginNext();
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  #beginNext(): void {
    if (this.#socket.destroyed) this.#waiting.length = 0;
    while (this.#underWay < this.#most) {
      const response = this.#waiting.shift();
      if (!response) return;
      this.#begin(response);
      if (response.writableEnded) continue;
      this.#underWay++;
      response.on('close', this.#onClose);
    }
  }

  /** Aborts when the connection ends. One for all its requests: an AbortController costs as much as a third of a hit. */
  get signal(): AbortSignal {
    if (this.#signal) return this.#signal;
    const controller = new AbortController();
    this.#socket.once('close', () => controller.abort(new CallerGone()));
    if (this.#socket.destroyed) controller.abort(new CallerGone());
    this.#signal = controller.signal;
    return this.#signal;
  }
}

const connections = new WeakMap<Socket, Connection>();

export function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket);
  if (known) return known;
  const connection = new Connection(socket);
  connections.set(socket, connection);
  return connection;
}

/** The client has disconnected; nothing went wrong. */
export class CallerGone extends Error {
  constructor() {
    super('The caller has gone away.');
    this.name = 'CallerGone';
  }
}

export function createdResponse({ baseUrl }: Context, path: string, document: object): Response {
  return jsonResponse(document, ['Location', `${baseUrl}${path}`], 201);
}

/** The id in the path; 0, which no object has, if it is not a number. */
export function idIn({ params: { id = '' } }: Pick<Context, 'params'>): number {
  return /^\d{1,15}$/.test(id) ? Number(id) : 0;
}

/** Hides secrets in addresses of map servers from everyone but administrators. */
export function shownTo<Document>({ caller }: Pick<Context, 'caller'>, document: Document): Document {
  return caller?.role === 'admin' ? document : (hideKeys(document) as Document);
}

export function authorIn({ caller }: Pick<Context, 'caller'>): TaskAuthor {
  const name = caller?.name ?? 'anonymous';
  return { name, account: accountOf(caller ?? { name }), unlimited: caller?.role === 'admin' };
}
