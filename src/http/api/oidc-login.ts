import { accountOf, type ExternalIdentity } from '../../access/caller.ts';
import { identityOf } from '../../access/claims.ts';
import { LoginThrottle } from '../../access/login-throttle.ts';
import { createLoginSeal, LOGIN_LASTS_MS } from '../../access/pending-login.ts';
import { UnavailableError } from '../../lib/error-code.ts';
import { cookieIn, sessionCookie } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { createPageWriter, html } from '../page.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import type { Response } from '../response.ts';
import { publicRoute, type Route } from '../route.ts';
import type { RouteDeps } from './route-deps.ts';

const BEGIN = '/login/oidc';
const END = `${BEGIN}/callback`;
const SEALED = /^[\w-]{1,4000}$/;

/**
 * Signing in with an OpenID Connect issuer: the code flow with PKCE, without script. `BEGIN` redirects the browser to
 * the issuer and stores the pending sign-in in a cookie; `END`, to which the issuer redirects it, begins the session.
 */
export function oidcLoginRoutes({ accounts, clock, log }: RouteDeps): readonly Route[] {
  const { oidc, externals, rightsToday, audit } = accounts;
  const seal = createLoginSeal(oidc?.settings.clientSecret ?? '', clock);
  const page = createPageWriter();
  /** Limits callbacks: each costs a request to the issuer. */
  const callbacks = new LoginThrottle(clock);
  return [publicRoute(BEGIN, begin), publicRoute(END, end)];

  function provider() {
    if (oidc) return oidc;
    throw new HttpProblem('path-unknown', 'Signing in with OpenID Connect is not configured.');
  }

  async function begin(context: Context): Promise<Response> {
    const returnTo = returnPath(new URLSearchParams(context.query).get('return') ?? '/');
    try {
      const { url, ...login } = await provider().begin(`${context.baseUrl}${END}`);
      return redirect(url, loginCookie(seal.seal({ ...login, returnTo }), context));
    } catch (error) {
      return unavailable(error, returnTo);
    }
  }

  async function end(context: Context): Promise<Response> {
    const issuer = provider();
    const state = new URLSearchParams(context.query).get('state') ?? '';
    const sealed = cookieIn(context.headers.cookie ?? null, loginCookieName(context), SEALED) ?? '';
    const login = seal.open(sealed, state);
    if (!login) return failed('This sign-in has expired, was used before, or began in another browser.');
    const attempt = await callbacks.begin(context.source, 'oidc');
    const claims = await issuer.end(context.query, login).catch((error: unknown) => {
      log.warn({ requestId: context.id, reason: loginFailure(error) }, 'a sign-in was refused');
      return null;
    });
    if (!claims) return failed('The sign-in service has refused the sign-in, or its answer was not valid.');
    attempt.succeeded();
    return await signIn(context, identityOf(claims, issuer.settings, clock.now()), login.returnTo);
  }

  async function signIn(context: Context, external: ExternalIdentity, returnTo: string): Promise<Response> {
    const { name } = external;
    const { id, source } = context;
    const account = accountOf({ name, external });
    const entry = { id, phase: 'ended', action: 'login', via: 'oidc', actor: name, account, source } as const;
    if (!rightsToday(external)) {
      audit.note({ ...entry, outcome: 'refused', status: 403 });
      return shown('forbidden', `${name} has signed in, but no group of this account has a role here.`);
    }
    await audit.record({ ...entry, outcome: 'done', status: 200 });
    const secret = await externals.begin(external);
    // `Lax`: after a redirect from the issuer's site, the next page may need the cookie already.
    return redirect(returnTo, sessionCookie(secret, context.secure, 'Lax'));
  }

  function unavailable(error: unknown, returnTo: string): Response {
    if (!(error instanceof UnavailableError)) throw error;
    const { headers, ...answer } = shown('stopping', error.message, returnTo);
    return { ...answer, headers: [...headers, 'Retry-After', '5'] };
  }

  function failed(text: string): Response {
    return shown('body-unreadable', text);
  }

  function shown(code: Parameters<typeof statusOf>[0], text: string, returnTo = '/'): Response {
    const again = `${BEGIN}?return=${encodeURIComponent(returnTo)}`;
    const body = html`<p>${text}</p><p><a href="${again}">Try again</a> ·
      <a href="/#/overview">Sign in with a local account</a> · <a href="/">Start page</a></p>`;
    const { headers, body: written } = page({ title: 'Sign-in', body });
    const status = statusOf(code);
    return { status, headers: [...headers, 'Cache-Control', 'no-store'], body: written };
  }
}

function redirect(location: string, cookie: string): Response {
  const headers = ['Location', location, 'Cache-Control', 'no-store', 'Set-Cookie', cookie];
  return { status: 303, headers, body: null };
}

function loginCookieName({ secure }: Context): string {
  return secure ? '__Host-tilewarden-login' : 'tilewarden-login';
}

/** `Lax`: the cookie must come with the redirect from the issuer's site. */
function loginCookie(sealed: string, context: Context): string {
  const lasts = LOGIN_LASTS_MS / 1000;
  const base = `${loginCookieName(context)}=${sealed}; Path=/; Max-Age=${lasts}; HttpOnly; SameSite=Lax`;
  return context.secure ? `${base}; Secure` : base;
}

/** Browsers read a backslash as a slash, and ignore tabs and line breaks. */
const PATH = /^\/(?![/\\])[^\\\p{Cc}]*$/u;
/** Browsers store at most 4096 bytes of a cookie, which contains the path. */
const MAX_RETURN_LENGTH = 1000;

/** The text if it is a path of this server, otherwise `/`. */
export function returnPath(text: string): string {
  const here = 'http://here.invalid';
  if (!PATH.test(text) || !URL.canParse(text, here)) return '/';
  const url = new URL(text, here);
  const path = `${url.pathname}${url.search}${url.hash}`;
  return url.origin === here && !path.startsWith('//') && path.length <= MAX_RETURN_LENGTH ? path : '/';
}

/** An error code of the issuer or of the client library. Longer texts from outside must not reach the log. */
function loginFailure(error: unknown): string {
  const { code, error: word } = error as { readonly code?: unknown; readonly error?: unknown };
  const known = [word, code].find((text) => typeof text === 'string' && /^[\w-]{1,60}$/.test(text));
  return String(known ?? (error instanceof Error ? error.name : 'unknown'));
}
