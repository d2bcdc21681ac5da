import type { IncomingMessage } from 'node:http';
import { type Access, type Caller, type Credentials, mayWorkOn } from './access.ts';
import { HttpProblem } from './problems.ts';
import { ROLES, type Role } from './route.ts';
import { type TrustsProxy, withoutMapping } from './trusted-proxies.ts';

const CHALLENGE = ['WWW-Authenticate', 'Basic realm="Tilewarden", charset="UTF-8"'];

/** The caller, if the credentials are good and its role suffices. */
export async function authorise(
  access: Access,
  request: IncomingMessage,
  trusts: TrustsProxy,
  needed: Role,
): Promise<Caller> {
  const caller = await access.authenticate(credentialsOf(request, trusts));
  if (!caller) throw new HttpProblem('credentials-needed', 'Valid credentials are needed.', CHALLENGE);
  if (ROLES.indexOf(caller.role) < ROLES.indexOf(needed)) {
    throw new HttpProblem(
      'forbidden',
      `This needs the role ${needed}; ${caller.name} has the role ${caller.role}.`,
    );
  }
  return caller;
}

export function refuseForeignLayer(caller: Caller, layer: string | undefined): void {
  if (layer === undefined || mayWorkOn(caller, layer)) return;
  throw new HttpProblem('forbidden', `${caller.name} may not work on this layer.`);
}

/**
 * A page of another site must not make a browser change anything here with credentials that the browser keeps.
 * Browsers name the origin of a request; what names none (curl, scripts) is not a browser.
 */
export function refuseCrossSite(request: IncomingMessage, ownHost: string): void {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) {
    if (site === 'same-origin' || site === 'none') return;
    throw new HttpProblem('cross-site', 'Pages of other sites may not change anything here.');
  }
  const { origin } = request.headers;
  if (origin === undefined || hostOfOrigin(origin) === ownHost.toLowerCase()) return;
  throw new HttpProblem('cross-site', 'Pages of other sites may not change anything here.');
}

/** Compressed bodies are refused unread: nothing a stranger sends is ever unpacked. */
export function refuseEncodedBody(request: IncomingMessage): void {
  if (request.headers['content-encoding'] === undefined) return;
  throw new HttpProblem(
    'media-type-unsupported',
    'A request body must not be compressed (Content-Encoding).',
  );
}

function hostOfOrigin(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : null;
}

function credentialsOf(request: IncomingMessage, trusts: TrustsProxy): Credentials {
  const peer = withoutMapping(request.socket.remoteAddress ?? '');
  const viaTrustedProxy = trusts(peer);
  return {
    authorization: request.headers.authorization ?? null,
    cookie: request.headers.cookie ?? null,
    address: viaTrustedProxy ? callerBehindProxies(request, peer, trusts) : peer,
    host: request.headers.host ?? '',
    viaTrustedProxy,
  };
}

/** Each proxy appends whom it heard from; the last one that is not itself a trusted proxy is the caller. */
function callerBehindProxies(request: IncomingMessage, peer: string, trusts: TrustsProxy): string {
  const header = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((hop) => hop.trim());
  return hops.findLast((hop) => hop !== '' && !trusts(hop)) ?? peer;
}
