/**
 * Sign-in with an OpenID Connect issuer, and the verification of its bearer tokens. The issuer is contacted when it is
 * first needed. Its configuration and keys are cached, and used for a while when it is unreachable.
 */
import { createHash } from 'node:crypto';
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from 'jose';
import type { ClientAuth, Configuration } from 'openid-client';
import type { Env } from '../lib/env.ts';
import { UnavailableError } from '../lib/error-code.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { isRecord } from '../lib/value-path.ts';
import { type ClaimSettings, type Claims, claimAt } from './claims.ts';

export interface OidcSettings extends ClaimSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** Audience of bearer tokens; null: the client's id. */
  readonly audience: string | null;
}

export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

interface Discovered {
  readonly config: Configuration;
  /** Each call of `config.serverMetadata()` copies it, which costs as much as half a signature. */
  readonly metadata: ReturnType<Configuration['serverMetadata']>;
}

/** Milliseconds between requests for the issuer's configuration, successful or not. */
const ASK_AGAIN_MS = 2000;
/** Milliseconds between requests for the issuer's keys. */
const KEYS_AGAIN_MS = 30_000;
/** Keys are read again after this time, so that withdrawn ones are no longer trusted. */
const KEYS_FRESH_MS = 5 * 60_000;
/** Known keys are used for this long while the issuer is unreachable. */
const KEYS_LAST_MS = 60 * 60_000;
const TIMEOUT_S = 5;
const CLOCK_TOLERANCE_S = 60;
const MAX_REMEMBERED = 1000;
const ALGORITHMS = ['RS256', 'ES256'];

export type OidcProvider = ReturnType<typeof createOidcProvider>;

export function createOidcProvider(
  settings: OidcSettings,
  { clock, log, fetch = globalThis.fetch }: Env & { readonly fetch?: typeof globalThis.fetch },
) {
  const { issuer, clientId, clientSecret } = settings;
  /** The latest configuration; used while the issuer is unreachable. */
  let known: Discovered | null = null;
  let latest: Promise<Discovered> | null = null;
  let askAgainAt = Number.NEGATIVE_INFINITY;
  let keys: JWTVerifyGetKey | null = null;
  let keysAskedAt = Number.NEGATIVE_INFINITY;
  let keysReadAt = Number.NEGATIVE_INFINITY;
  let fetchingKeys: Promise<void> | null = null;
  let jose: Promise<typeof import('jose')> | null = null;
  /** Tokens that these keys have verified, by their hash. */
  let verified = new RecentMap<string, JWTPayload & { sub: string }>(MAX_REMEMBERED);

  /** The current configuration. Rejects while the issuer is unavailable: a browser sent there would show its own error page. */
  function current(): Promise<Discovered> {
    if (latest && clock.monotonic() < askAgainAt) return latest;
    askAgainAt = Number.POSITIVE_INFINITY;
    latest = discover()
      .then(
        (discovered) => {
          known = discovered;
          return discovered;
        },
        (error: unknown) => {
          log.warn({ err: error, issuer }, 'the sign-in service cannot be reached');
          throw unreachable(error);
        },
      )
      .finally(() => {
        askAgainAt = clock.monotonic() + ASK_AGAIN_MS;
      });
    return latest;
  }

  /** The last known configuration; requested only if there is none. */
  async function configuration(): Promise<Discovered> {
    return known ?? current();
  }

  async function discover(): Promise<Discovered> {
    const client = await import('openid-client');
    const [basic, post] = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)];
    // OpenID Connect Discovery 1.0, 3: without the member it is client_secret_basic.
    const authenticate: ClientAuth = (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
    };
    const config = await client.discovery(new URL(issuer), clientId, undefined, authenticate, {
      timeout: TIMEOUT_S,
      [client.customFetch]: (url, { body, ...how }) =>
        fetch(url, { ...how, body: body ? String(body) : null }),
      // The settings allow http on this machine only.
      execute: issuer.startsWith('http:') ? [client.allowInsecureRequests] : [],
    });
    return { config, metadata: config.serverMetadata() };
  }

  /** Imported once: repeating `import()` for each token costs more than verifying it. */
  function loadJose(): Promise<typeof import('jose')> {
    jose ??= import('jose');
    return jose;
  }

  async function fetchKeys(): Promise<void> {
    const { createLocalJWKSet } = await loadJose();
    const { jwks_uri: address } = (await current()).metadata;
    keysAskedAt = clock.monotonic();
    const answer = await fetch(address ?? '', {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_S * 1000),
    });
    if (!answer.ok) throw new Error(`The keys of the issuer were answered with status ${answer.status}.`);
    keys = createLocalJWKSet((await answer.json()) as JSONWebKeySet);
    keysReadAt = keysAskedAt;
    verified = new RecentMap(MAX_REMEMBERED);
  }

  /** At most once in `KEYS_AGAIN_MS`, for all callers together. */
  async function renewKeys(): Promise<void> {
    if (!fetchingKeys && clock.monotonic() - keysAskedAt < KEYS_AGAIN_MS) return;
    // Until there are keys, failed discovery does not count: they are requested as soon as the issuer is back.
    if (keys) keysAskedAt = clock.monotonic();
    fetchingKeys ??= fetchKeys().finally(() => {
      fetchingKeys = null;
    });
    await fetchingKeys.catch((error: unknown) => {
      log.warn({ err: error, issuer }, 'the keys of the sign-in service cannot be read');
    });
  }

  /** Throws if the keys are too old to be trusted, or were never loaded. */
  async function freshKeys(): Promise<JWTVerifyGetKey> {
    if (clock.monotonic() - keysReadAt > KEYS_FRESH_MS) await renewKeys();
    if (keys && clock.monotonic() - keysReadAt <= KEYS_LAST_MS) return keys;
    throw unreachable();
  }

  const keyOf: JWTVerifyGetKey = async (header, token) => {
    const findKey = await freshKeys();
    try {
      return await findKey(header, token);
    } catch (error) {
      if (!(error instanceof (await loadJose()).errors.JWKSNoMatchingKey)) throw error;
      await renewKeys();
      return (await freshKeys())(header, token);
    }
  };

  /** The claims of a token of the issuer; null: invalid. Throws if the issuer is unreachable and no usable keys are known. */
  async function verify(token: string, audience: string): Promise<(JWTPayload & { sub: string }) | null> {
    const { jwtVerify } = await loadJose();
    if (!isSignedAsAllowed(token)) return null;
    try {
      const { payload } = await jwtVerify(token, keyOf, {
        issuer: (await configuration()).metadata.issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(clock.now()),
      });
      const { sub } = payload;
      return typeof sub === 'string' && sub !== '' ? { ...payload, sub } : null;
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      return null;
    }
  }

  /** The claims of a bearer token; null: invalid. Scripts send one with every request: its signature is checked once. */
  async function claimsOf(token: string): Promise<(JWTPayload & { sub: string }) | null> {
    const hash = createHash('sha256').update(token).digest('base64');
    // Reading the keys again empties `verified`, so a token of a withdrawn key is refused.
    if (verified.get(hash)) await freshKeys();
    const remembered = verified;
    const known = remembered.get(hash);
    const minExpiry = clock.now() / 1000 - CLOCK_TOLERANCE_S;
    if (known) return (known.exp ?? 0) > minExpiry ? known : null;
    if (!isAccessToken(token)) return null;
    const claims = await verify(token, settings.audience ?? clientId);
    if (claims) remembered.set(hash, claims, 1);
    return claims;
  }

  /** Claims missing in the ID token are taken from userinfo, which must have the same subject. */
  async function completed(claims: JWTPayload & { sub: string }, accessToken: string): Promise<Claims> {
    const { roleClaim, layersClaim } = settings;
    const names = ['preferred_username', roleClaim, ...(layersClaim === null ? [] : [layersClaim])];
    const { config, metadata } = await configuration();
    const isWhole = names.every((path) => claimAt(claims, path) !== undefined);
    if (isWhole || metadata.userinfo_endpoint === undefined) return claims;
    const { fetchUserInfo } = await import('openid-client');
    try {
      const info = await fetchUserInfo(config, accessToken, claims.sub);
      const lacking = [...names, 'email'].filter((path) => claimAt(claims, path) === undefined);
      return { ...claims, ...Object.fromEntries(lacking.map((path) => [path, claimAt(info, path)])) };
    } catch (error) {
      log.warn({ err: error, issuer }, 'the user information of the sign-in service cannot be read');
      return claims;
    }
  }

  return {
    settings,
    claimsOf,

    /** Whether a token claims to be from the issuer and for this server. */
    isAddressed(token: string): boolean {
      const { iss, aud } = tokenPart(token, 1);
      const own = [clientId, settings.audience];
      return iss === issuer && [aud].flat().some((audience) => own.includes(String(audience)));
    },

    /** The sign-in URL, and the state to keep until the browser returns. */
    async begin(redirectUri: string): Promise<{ readonly url: string } & LoginSecrets> {
      const { config } = await current();
      const client = await import('openid-client');
      const verifier = client.randomPKCECodeVerifier();
      const [state, nonce] = [client.randomState(), client.randomNonce()];
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', ...settings.scopes])].join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      });
      return { url: url.href, state, nonce, verifier, redirectUri };
    },

    /** The claims of the signed-in user. Throws if the issuer's response is invalid. */
    async end(query: string, login: LoginSecrets): Promise<Claims> {
      const { config } = await configuration();
      const client = await import('openid-client');
      const tokens = await client.authorizationCodeGrant(config, new URL(`${login.redirectUri}?${query}`), {
        pkceCodeVerifier: login.verifier,
        expectedState: login.state,
        expectedNonce: login.nonce,
        idTokenExpected: true,
      });
      const claims = await verify(tokens.id_token ?? '', clientId);
      if (!claims) throw new Error('The ID token is not signed by the issuer.');
      return completed(claims, tokens.access_token);
    },

    /** The sign-out page of the issuer; null: none, or the issuer is unavailable. */
    async logoutUrl(returnTo: string): Promise<string | null> {
      const issuer = await current().catch(() => null);
      if (issuer?.metadata.end_session_endpoint === undefined) return null;
      const { buildEndSessionUrl } = await import('openid-client');
      return buildEndSessionUrl(issuer.config, { post_logout_redirect_uri: returnTo }).href;
    },
  };
}

/** RFC 7515, 7.1: three parts in base64url, the first an object with `alg`. Passwords may have dots too. */
export function isJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text) && 'alg' in tokenPart(text, 0);
}

/** A token with another algorithm is refused without a request to the issuer. */
function isSignedAsAllowed(token: string): boolean {
  return ALGORITHMS.includes(String(tokenPart(token, 0).alg));
}

/** RFC 8725, 3.11 and RFC 8417: a token with another type, or with events, was issued for another purpose, such as logout. */
function isAccessToken(token: string): boolean {
  const { typ = 'JWT' } = tokenPart(token, 0);
  return /^(application\/)?(at\+)?jwt$/i.test(String(typ)) && !('events' in tokenPart(token, 1));
}

/** The header or the claims of a token, not verified; empty when it has none. */
function tokenPart(token: string, index: 0 | 1): Claims {
  try {
    const part: unknown = JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());
    return isRecord(part) ? part : {};
  } catch {
    return {};
  }
}

function unreachable(cause?: unknown): UnavailableError {
  return new UnavailableError('The sign-in service cannot be reached now; try again later.', { cause });
}
