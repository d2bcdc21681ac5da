import { createHmac, randomBytes } from 'node:crypto';
import { isTilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { createKeyedSingleFlight } from '../lib/keyed-single-flight.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { isTokenShaped } from './api-token.ts';
import { accountOf, type Caller, type ExternalIdentity } from './caller.ts';
import { identityOf, type ProxyHeaders, proxyIdentity, type RightsToday, roleMissing } from './claims.ts';
import type { ExternalAccounts } from './external-accounts.ts';
import type { Attempt, LoginThrottle } from './login-throttle.ts';
import { isJwt, type OidcProvider } from './oidc-provider.ts';
import type { PasswordHasher } from './password-hasher.ts';
import type { SessionStore } from './session-store.ts';
import type { ApiToken, TokenStore } from './token-store.ts';
import { MAX_USER_NAME_LENGTH, type User } from './user.ts';
import type { StoredUser, UserStore } from './user-store.ts';

export interface Presented {
  /** Value of the `Authorization` header. It takes precedence over proxy and session. */
  readonly authorization: string | null;
  readonly session: string | null;
  readonly address: string;
  /** The user of a trusted proxy; null: none. It takes precedence over the session. */
  readonly proxy?: ProxyHeaders | null;
}

interface AuthenticatorDeps extends Env {
  readonly users: UserStore;
  readonly tokens: TokenStore;
  readonly sessions: SessionStore;
  readonly externals: Pick<ExternalAccounts, 'find'>;
  readonly rightsToday: RightsToday;
  readonly oidc: Pick<OidcProvider, 'claimsOf' | 'isAddressed' | 'settings'> | null;
  readonly hasher: PasswordHasher;
  readonly cache: CredentialCache;
  readonly throttle: LoginThrottle;
  /** `name` is null unless a user has it: it may be a password typed into the wrong field. */
  readonly refused: (login: { readonly name: string | null; readonly address: string }) => void;
}

/** Shortest interval between updates of a token's last use. */
const USED_EVERY_MS = 60_000;
const MAX_PASSWORD_LENGTH = 512;

/**
 * Identifies the caller; null without valid credentials. Users and tokens are read from the database each time, so a
 * change by any process applies to the next request.
 */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #checks = createKeyedSingleFlight<string | null>();
  /** Ids of tokens whose last use is being recorded. */
  readonly #marking = new Set<number>();
  /** The users whose passwords the callers presented. */
  readonly #matched = new WeakMap<Caller, StoredUser>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
  }

  /** Throws `attempts-throttled` or `role-missing`. */
  async authenticate({ authorization, session, address, proxy }: Presented): Promise<Caller | null> {
    if (authorization === null && proxy) return this.#byProxy(proxy);
    if (authorization === null) return session === null ? null : this.#bySession(session);
    const credentials = readAuthorization(authorization);
    if (!credentials) return null;
    const { name, secret } = credentials;
    if (isJwt(secret)) return this.#byJwt(secret, address);
    if (name === null || isTokenShaped(secret)) return this.#byToken(secret, address);
    return this.byPassword(name, secret, address);
  }

  /** Whether the same credentials still give the same caller with the same rights. Does not count as a use. */
  async stillHolds(presented: Presented, caller: Caller): Promise<boolean> {
    const again = await this.#again(presented, caller);
    return again !== null && accountOf(again) === accountOf(caller) && sameRights(again, caller);
  }

  async #again(presented: Presented, caller: Caller): Promise<Caller | null> {
    const { users, tokens } = this.#deps;
    if (caller.via === 'session' || caller.via === 'oidc')
      return this.#bySession(presented.session ?? '', true);
    if (caller.via === 'token') {
      const token = await tokens.find(readAuthorization(presented.authorization ?? '')?.secret ?? '');
      return token && tokenCaller(token);
    }
    if (caller.via !== 'basic') return this.authenticate(presented).catch(() => null);
    const user = await users.find(caller.name);
    return user && user.password === this.#matched.get(caller)?.password ? callerOf(user, 'basic') : null;
  }

  /**
   * Whether an `Authorization` header may be meant for this server, valid or not, and so must not be passed to a map
   * server. Unreadable credentials count as meant for this one.
   */
  async isOwn(authorization: string): Promise<boolean> {
    const credentials = readAuthorization(authorization);
    if (!credentials) return true;
    const { name, secret } = credentials;
    if (isTokenShaped(secret) || this.#deps.oidc?.isAddressed(secret)) return true;
    return name !== null && (await this.#deps.users.find(name)) !== null;
  }

  /** Throws `attempts-throttled`. Takes as long for an unknown user. */
  async byPassword(typed: string, password: string, address: string): Promise<Caller | null> {
    if (password.length > MAX_PASSWORD_LENGTH) return null;
    // Throttles keep names in memory: all that are too long for a user count as one.
    const name = typed.length > MAX_USER_NAME_LENGTH ? '' : typed;
    const { cache, throttle, users } = this.#deps;
    const remembered = await this.#remembered(name, password, address);
    if (remembered) return this.#byMatch(remembered);
    // No check is in progress that this one could join: a guess during a pause is refused without the ledger.
    if (this.#checks.size === 0) throttle.check(address, name);
    const flight = `${address} ${cache.entryOf(name, password, '')}`;
    const stored = await this.#checks.run(flight, () => this.#check(name, password, address));
    const user = stored === null ? null : await users.find(name);
    // The account may have changed during the check, even before this request joined it.
    return user && user.password === stored ? this.#byMatch(user) : null;
  }

  /** The user whose password the caller presented, as read then; null: other credentials. */
  userOf(caller: Caller): User | null {
    return this.#matched.get(caller) ?? null;
  }

  #byMatch(user: StoredUser): Caller {
    const caller = callerOf(user, 'basic');
    this.#matched.set(caller, user);
    return caller;
  }

  /** Only for addresses that have logged in to this account: others could guess unthrottled. */
  async #remembered(name: string, password: string, address: string): Promise<StoredUser | null> {
    const { cache, throttle, users } = this.#deps;
    if (!throttle.trusts(address, name)) return null;
    const user = await users.find(name);
    return user && cache.holds(cache.entryOf(name, password, user.password)) ? user : null;
  }

  /** The stored text that the password matches; null: no match. A guess during a pause is refused before it is hashed. */
  async #check(name: string, password: string, address: string): Promise<string | null> {
    const { cache, throttle, users, refused } = this.#deps;
    const attempt = await throttle.begin(address, name);
    try {
      const user = await users.find(name);
      if (await this.#matches(user, password, attempt)) {
        const stored = user?.password ?? '';
        cache.remember(cache.entryOf(name, password, stored));
        return stored;
      }
      refused({ name: user && name, address });
      return null;
    } catch (error) {
      if (isTilewardenError(error) && error.code === 'attempts-throttled') throw attempt.crowdedOut();
      attempt.withdrawn();
      throw error;
    }
  }

  async #matches(user: StoredUser | null, password: string, attempt: Attempt): Promise<boolean> {
    const stored = user?.password ?? null;
    const { matches, outdated } = await this.#deps.hasher.check(password, stored, attempt.standing);
    if (!matches) return false;
    attempt.succeeded();
    if (user && outdated) this.#inBackground(this.#rehash(user, password));
    return true;
  }

  async #rehash({ name, password: stored }: StoredUser, password: string): Promise<void> {
    await this.#deps.users.restorePassword(name, stored, await this.#deps.hasher.hash(password));
  }

  /** Throws `role-missing`. */
  async #byJwt(token: string, address: string): Promise<Caller | null> {
    const { oidc, refused } = this.#deps;
    const claims = oidc && (await oidc.claimsOf(token));
    if (!oidc || !claims) {
      refused({ name: null, address });
      return null;
    }
    return this.#external('jwt', identityOf(claims, oidc.settings, Math.floor((claims.iat ?? 0) * 1000)));
  }

  /** Throws `role-missing`. Null: the proxy names no user. */
  #byProxy(headers: ProxyHeaders): Caller | null {
    const identity = proxyIdentity(headers, this.#deps.clock.now());
    return identity && this.#external('proxy', identity);
  }

  #external(via: 'jwt' | 'proxy', external: ExternalIdentity): Caller {
    const rights = this.#deps.rightsToday(external);
    if (!rights) throw roleMissing(external.name);
    return { name: external.name, ...rights, via, external };
  }

  async #byToken(secret: string, address: string): Promise<Caller | null> {
    const token = isTokenShaped(secret) ? await this.#deps.tokens.find(secret) : null;
    if (!token) {
      this.#deps.refused({ name: null, address });
      return null;
    }
    this.#markUsed(token);
    return tokenCaller(token);
  }

  async #bySession(secret: string, peek = false): Promise<Caller | null> {
    const name = await this.#deps.sessions.find(secret, peek);
    if (name === null) return this.#deps.externals.find(secret, peek);
    const user = await this.#deps.users.find(name);
    return user && callerOf(user, 'session');
  }

  #markUsed({ id, lastUsedAt }: ApiToken): void {
    const recently = lastUsedAt !== null && this.#deps.clock.now() - lastUsedAt < USED_EVERY_MS;
    if (recently || this.#marking.has(id)) return;
    this.#marking.add(id);
    this.#inBackground(this.#deps.tokens.markUsed(id).finally(() => this.#marking.delete(id)));
  }

  /** For writes that an accepted caller does not wait for. */
  #inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'an account could not be updated after a sign-in');
    });
  }
}

function callerOf({ name, role, layers, areas }: User, via: 'basic' | 'session'): Caller {
  return { name, role, layers, ...(areas && { areas }), via };
}

function tokenCaller({ id: tokenId, name, role, layers, createdBy: owner, account }: ApiToken): Caller {
  const caller = { name: `token:${name}`, role, layers, via: 'token', owner, tokenId } as const;
  return account === null ? caller : { ...caller, ownerAccount: account };
}

function sameRights(one: Caller, other: Caller): boolean {
  const rightsOf = ({ role, layers, areas }: Caller) => JSON.stringify([role, layers, areas]);
  return rightsOf(one) === rightsOf(other);
}

interface Authorization {
  /** Null: a bearer token. */
  readonly name: string | null;
  readonly secret: string;
}

/** Tokens of some issuers list hundreds of groups. */
const MAX_HEADER_LENGTH = 12_000;

/** Null: another scheme, or too long. */
function readAuthorization(header: string): Authorization | null {
  if (header.length > MAX_HEADER_LENGTH) return null;
  const [, scheme = '', rest = ''] = /^([A-Za-z]+) +(\S+) *$/.exec(header) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { name: null, secret: rest };
  if (scheme.toLowerCase() !== 'basic') return null;
  return readBasic(rest);
}

/** RFC 7617, 2: base64 of the name, a colon and the password, in UTF-8 as our challenge demands. */
function readBasic(encoded: string): Authorization | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null;
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) return null;
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  return { name: text.slice(0, colon), secret: text.slice(colon + 1) };
}

/** How long an entry is kept after its last use. */
const LASTS_MS = 5 * 60_000;
const MAX_ENTRIES = 1000;

/**
 * Remembers which passwords have been checked: HTTP Basic sends them with every request, and a check takes half a
 * second. Only a keyed hash is kept, of the name, the password and the stored text it matched; when any process changes
 * the stored text, the old entry is never found again.
 */
export class CredentialCache {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #ends = new RecentMap<string, number>(MAX_ENTRIES);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The key of an entry; it reveals nothing about the three texts. */
  entryOf(name: string, password: string, stored: string): string {
    const hmac = createHmac('sha256', this.#key);
    for (const part of [name, password, stored]) hmac.update(`${Buffer.byteLength(part)}\0`).update(part);
    return hmac.digest('base64');
  }

  /** Whether the entry is remembered. This counts as a use. */
  holds(entry: string): boolean {
    const end = this.#ends.get(entry);
    if (end === null || this.#clock.monotonic() >= end) return false;
    this.remember(entry);
    return true;
  }

  remember(entry: string): void {
    this.#ends.set(entry, this.#clock.monotonic() + LASTS_MS, 1);
  }
}
