import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../access/caller.ts';
import type { Access } from './door/access.ts';
import { cameBySecureWay, credentialsNeeded, credentialsOf, sourceAddress } from './door/gate.ts';
import { ownAddress } from './door/own-address.ts';
import type { TrustsProxy } from './door/trusted-proxies.ts';
import type { HttpProblem } from './problems.ts';

/** What of a path stood where its route's pattern has names. */
export type PathParams = Readonly<Record<string, string>>;

export interface ExchangeParts {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: string;
  readonly prefix: string;
  readonly params: PathParams;
  readonly caller: Caller | null;
  readonly trusts: TrustsProxy;
  readonly access: Access;
}

/** What a handler has to say of a change, for the audit log. No secrets. */
export interface ChangeNote {
  /** E.g. `user:mary`. */
  readonly target?: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

const NO_BODY = Buffer.alloc(0);

/** A request as handlers see it. */
export class Exchange {
  readonly id: string;
  /** As it came: not decoded, without the query. */
  readonly path: string;
  /** As it came, without the question mark. */
  readonly query: string;
  readonly params: PathParams;
  /** Null on public routes, where nobody asks. */
  readonly caller: Caller | null;
  body: Buffer;
  /** Set by a handler before it answers. */
  change: ChangeNote;
  /**
   * Whom the answer is for. `varies`: it depends on who asks. `caller`: only for this one, and never for pages of other
   * sites, whatever the route says.
   */
  audience: 'all' | 'varies' | 'caller';
  readonly #parts: ExchangeParts;

  constructor(parts: ExchangeParts) {
    this.id = parts.id;
    this.path = parts.path;
    this.query = parts.query;
    this.params = parts.params;
    this.caller = parts.caller;
    this.body = NO_BODY;
    this.change = {};
    this.audience = 'all';
    this.#parts = parts;
  }

  get headers(): IncomingHttpHeaders {
    return this.#parts.request.headers;
  }

  /** The parameter of that name in the path; the route's pattern has it. */
  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** The absolute address of this server as the caller knows it, prefix included, without a closing slash. */
  get baseUrl(): string {
    return ownAddress(this.#parts.request, this.#parts.prefix, this.#parts.trusts);
  }

  /** The network address of the caller; behind trusted proxies, of whom they speak for. */
  get source(): string {
    return sourceAddress(this.#parts.request, this.#parts.trusts);
  }

  /** The caller came by https. */
  get secure(): boolean {
    return cameBySecureWay(this.#parts.request, this.#parts.trusts);
  }

  /** Who is calling, on public routes too; null when the credentials are missing or wrong. */
  async identify(): Promise<Caller | null> {
    const { access, request, trusts } = this.#parts;
    return this.caller ?? access.authenticate(credentialsOf(request, trusts));
  }

  /** Whether the caller would still be let in as it was. */
  async callerStillHolds(): Promise<boolean> {
    const { access, request, trusts } = this.#parts;
    return this.caller === null || access.stillHolds(credentialsOf(request, trusts), this.caller);
  }

  /** What to throw at a caller that has to say who it is. */
  credentialsNeeded(): HttpProblem {
    return credentialsNeeded(this.#parts.request);
  }

  /** Aborts when the caller goes away. */
  get signal(): AbortSignal {
    return connectionSignal(this.#parts.request.socket);
  }
}

/** By socket: an AbortController costs as much as a third of a hit, and a connection carries many requests. */
const connectionSignals = new WeakMap<Socket, AbortSignal>();

function connectionSignal(socket: Socket): AbortSignal {
  const known = connectionSignals.get(socket);
  if (known) return known;
  const controller = new AbortController();
  socket.once('close', () => controller.abort(new CallerGone()));
  if (socket.destroyed) controller.abort(new CallerGone());
  connectionSignals.set(socket, controller.signal);
  return controller.signal;
}

/** Why work for a caller was given up. Nobody is left to answer, and nothing went wrong. */
export class CallerGone extends Error {
  constructor() {
    super('The caller has gone away.');
    this.name = 'CallerGone';
  }
}
