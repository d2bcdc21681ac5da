import type { Authenticator, Presented } from '../../access/authenticator.ts';
import type { Caller } from '../../access/caller.ts';
import type { ProxyHeaders } from '../../access/claims.ts';
import { SESSION_LIFE_MS } from '../../access/session-store.ts';
import type { Logger } from '../../lib/logger.ts';
import { isLoopbackAddress, isLoopbackHost } from './peer.ts';

export interface Credentials extends Presented {
  readonly host: string;
}

/** Names of headers. */
export interface ProxyHeaderNames extends ProxyHeaders {
  /** Called when such headers came from an untrusted address and were ignored. */
  readonly ignored: () => void;
}

export interface Access {
  /** True: every client may do everything, so the server must listen on loopback only. */
  readonly loopbackOnly: boolean;
  /** The headers in which trusted proxies name the signed-in user; absent: proxies do not authenticate. */
  readonly proxyHeaders?: ProxyHeaderNames;
  /** Null: the credentials are missing or wrong. Throws `attempts-throttled` or `role-missing`. */
  authenticate(credentials: Credentials): Promise<Caller | null>;
  /** Whether these credentials still authenticate this caller. */
  stillHolds(credentials: Credentials, caller: Caller): Promise<boolean>;
}

export function createAccountAccess(
  authenticator: Pick<Authenticator, 'authenticate' | 'stillHolds'>,
  proxyHeaders: ProxyHeaderNames | null = null,
): Access {
  return {
    loopbackOnly: false,
    ...(proxyHeaders && { proxyHeaders }),
    authenticate: (credentials) => authenticator.authenticate(credentials),
    stillHolds: (credentials, caller) => authenticator.stillHolds(credentials, caller),
  };
}

export function proxyHeadersOf(login: ProxyHeaders | null, log: Logger): ProxyHeaderNames | null {
  if (!login) return null;
  let warned = false;
  return {
    user: login.user,
    groups: login.groups,
    ignored() {
      if (!warned) log.warn({ header: login.user }, 'a sign-in header from an untrusted address was ignored');
      warned = true;
    },
  };
}

/** For a server without accounts: every client on this machine may do everything. */
export function createLoopbackAccess(): Access {
  const local: Caller = { name: 'local', role: 'admin', layers: ['*'], via: 'machine' };
  return {
    loopbackOnly: true,
    async authenticate({ address, host }) {
      // DNS rebinding: a page whose name resolves to 127.0.0.1 comes from this machine too, but under its own name.
      return isLoopbackHost(host) && isLoopbackAddress(address) ? local : null;
    },
    stillHolds: async () => true,
  };
}

/** RFC 6265bis, 4.1.3.2: a cookie of the first name can only be set over https, by this host. */
const SECURE_NAME = '__Host-tilewarden';
const PLAIN_NAME = 'tilewarden';
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function readSessionCookie(header: string | null, secure: boolean): string | null {
  return cookieIn(header, secure ? SECURE_NAME : PLAIN_NAME);
}

/** The value of the cookie, if it has the form of a secret. */
export function cookieIn(header: string | null, name: string, form = SECRET): string | null {
  for (const pair of header?.split(';') ?? []) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name && form.test(value)) return value;
  }
  return null;
}

/** The value of `Set-Cookie`. An empty secret removes the cookie. */
export function sessionCookie(secret: string, secure: boolean, site: 'Strict' | 'Lax' = 'Strict'): string {
  const lasts = secret === '' ? 0 : SESSION_LIFE_MS / 1000;
  const base = `${secure ? SECURE_NAME : PLAIN_NAME}=${secret}; Path=/; Max-Age=${lasts}; HttpOnly; SameSite=${site}`;
  return secure ? `${base}; Secure` : base;
}

/** A limit of concurrent uses, in total and per account. */
export class CallerPlaces {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #uses = new Map<string, number>();
  #total = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  hasRoom(account: string): boolean {
    return this.#total < this.#most && (this.#uses.get(account) ?? 0) < this.#mostOfOne;
  }

  /** Returns a function that releases the place; call it once. */
  take(account: string): () => void {
    this.#add(account, 1);
    return () => this.#add(account, -1);
  }

  #add(account: string, by: 1 | -1): void {
    const own = (this.#uses.get(account) ?? 0) + by;
    this.#total += by;
    if (own === 0) this.#uses.delete(account);
    else this.#uses.set(account, own);
  }
}
