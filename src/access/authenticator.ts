import type { Clock } from '../lib/clock.ts';
import { createKeyedSingleFlight } from '../lib/keyed-single-flight.ts';
import type { Logger } from '../lib/logger.ts';
import { isTokenShaped } from './api-token.ts';
import type { Caller } from './caller.ts';
import type { CredentialCache } from './credential-cache.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { PasswordHasher } from './password-hasher.ts';
import { readAuthorization } from './read-authorization.ts';
import type { SessionStore } from './session-store.ts';
import type { ApiToken, TokenStore } from './token-store.ts';
import type { User } from './user.ts';
import type { StoredUser, UserStore } from './user-store.ts';

/** What a request shows to say who is asking. */
export interface Presented {
  /** The header's value. Where there is one, the session does not count. */
  readonly authorization: string | null;
  readonly session: string | null;
  readonly address: string;
}

export interface RefusedLogin {
  /** Null when there is no such user: people type passwords into the wrong field. */
  readonly name: string | null;
  readonly address: string;
}

export interface AuthenticatorDeps {
  readonly users: UserStore;
  readonly tokens: TokenStore;
  readonly sessions: SessionStore;
  readonly hasher: PasswordHasher;
  readonly cache: CredentialCache;
  readonly throttle: LoginThrottle;
  readonly clock: Clock;
  readonly log: Logger;
  readonly refused: (login: RefusedLogin) => void;
}

const USED_EVERY_MS = 60_000;
const LONGEST_PASSWORD = 512;

/**
 * Says who is asking; null when that is not shown. What is true of a user or token is read from the database each
 * time, so a change counts from the next request on, whichever process made it.
 */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #checks = createKeyedSingleFlight<boolean>();
  readonly #marking = new Set<number>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
  }

  /** Throws `attempts-throttled`. */
  async authenticate({ authorization, session, address }: Presented): Promise<Caller | null> {
    if (authorization === null) return session === null ? null : this.#bySession(session);
    const given = readAuthorization(authorization);
    if (given?.scheme === 'bearer') return this.#byToken(given.secret, address);
    if (!given) return null;
    if (isTokenShaped(given.password)) return this.#byToken(given.password, address);
    return this.byPassword(given.name, given.password, address);
  }

  /** Throws `attempts-throttled`. Takes as long for a user who does not exist. */
  async byPassword(name: string, password: string, address: string): Promise<Caller | null> {
    if (password.length > LONGEST_PASSWORD) return null;
    const user = await this.#deps.users.find(name);
    if (!(await this.#matches(name, user, password, address))) return null;
    return user && callerOf(user, 'password');
  }

  async #matches(name: string, user: StoredUser | null, password: string, address: string): Promise<boolean> {
    const { cache, throttle } = this.#deps;
    const entry = cache.entryOf(name, password, user?.password ?? '');
    // Only from where this account has been logged in to: for all others the memory would answer guesses for free.
    if (user && throttle.trusts(address, name) && cache.holds(entry)) return true;
    return this.#checks.run(`${address} ${entry}`, async () => {
      const matches = await this.#check(name, user, password, address);
      if (matches) cache.remember(entry);
      if (!matches) this.#deps.refused({ name: user && name, address });
      return matches;
    });
  }

  async #check(name: string, user: StoredUser | null, password: string, address: string): Promise<boolean> {
    const { hasher, throttle } = this.#deps;
    const attempt = throttle.begin(address, name);
    try {
      const { matches, outdated } = await hasher.check(password, user?.password ?? null, attempt.trusted);
      if (!matches) return false;
      attempt.succeeded();
      if (user && outdated) this.#inBackground(this.#storeAnew(user, password));
      return true;
    } catch (error) {
      attempt.withdrawn();
      throw error;
    }
  }

  async #storeAnew({ name, password: stored }: StoredUser, password: string): Promise<void> {
    await this.#deps.users.restorePassword(name, stored, await this.#deps.hasher.hash(password));
  }

  async #byToken(secret: string, address: string): Promise<Caller | null> {
    const token = isTokenShaped(secret) ? await this.#deps.tokens.find(secret) : null;
    if (!token) {
      this.#deps.refused({ name: null, address });
      return null;
    }
    this.#markUsed(token);
    const { name, role, layers } = token;
    return { name: `token:${name}`, role, layers, via: 'token' };
  }

  async #bySession(secret: string): Promise<Caller | null> {
    const name = await this.#deps.sessions.find(secret);
    const user = name === null ? null : await this.#deps.users.find(name);
    return user && callerOf(user, 'session');
  }

  #markUsed({ id, lastUsedAt }: ApiToken): void {
    const recently = lastUsedAt !== null && this.#deps.clock.now() - lastUsedAt < USED_EVERY_MS;
    if (recently || this.#marking.has(id)) return;
    this.#marking.add(id);
    this.#inBackground(this.#deps.tokens.markUsed(id).finally(() => this.#marking.delete(id)));
  }

  /** Whoever is let in does not wait for what is only good to know. */
  #inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'A use of an account could not be noted');
    });
  }
}

function callerOf({ name, role, layers }: User, via: 'password' | 'session'): Caller {
  return { name, role, layers, via };
}
