import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type Caller, type Role, roleSuffices } from '../../access/caller.ts';
import type { ProxyHeaders } from '../../access/claims.ts';
import type { HttpLimits } from '../limits.ts';
import { HttpProblem } from '../problems.ts';
import type { RequestHead } from '../request-head.ts';
import { type Access, type Credentials, type ProxyHeaderNames, readSessionCookie } from './access.ts';
import { isHost, ownAddress, peerOf, type TrustsProxy, withoutMapping } from './peer.ts';

const HOST = 'host';
const CHALLENGE = 'Basic realm="Tilewarden", charset="UTF-8"';
/** Browsers show no password dialog for an unknown scheme; our pages have a form. */
const CHALLENGE_TO_SCRIPTS = 'Session realm="Tilewarden"';

export function credentialsNeeded(request: RequestHead): HttpProblem {
  const byScript = request.headers['sec-fetch-dest'] === 'empty';
  return new HttpProblem('credentials-needed', 'Valid credentials are needed.', [
    'WWW-Authenticate',
    byScript ? CHALLENGE_TO_SCRIPTS : CHALLENGE,
  ]);
}

export function refuseLesserRole(caller: Caller, needed: Role): void {
  if (roleSuffices(caller.role, needed)) return;
  throw new HttpProblem(
    'forbidden',
    `This needs the role ${needed}; ${caller.name} has the role ${caller.role}.`,
  );
}

/** RFC 9112, 3.2: an invalid `Host`, or a second one, is a 400. A valid one is cached per connection. */
export function refuseBadHost(
  { headers: { host }, rawHeaders }: RequestHead,
  connection: { host: string | null },
): void {
  if (hasTwoHosts(rawHeaders)) {
    throw new HttpProblem('header-invalid', 'The Host header may be sent once only.');
  }
  if (host === undefined || host === '' || host === connection.host) return;
  if (!isHost(host)) {
    throw new HttpProblem(
      'header-invalid',
      'The Host header is not a host name or address, with or without a port.',
    );
  }
  connection.host = host;
}

/** Node.js keeps the first; a proxy in front may have used the second. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === HOST.length && name.toLowerCase() === HOST) hosts++;
  }
  return hosts > 1;
}

export function refuseExcess({ url = '', rawHeaders }: RequestHead, limits: HttpLimits): void {
  if (url.length > limits.addressLength) {
    throw new HttpProblem(
      'address-too-long',
      `An address may have at most ${limits.addressLength} characters.`,
    );
  }
  if (rawHeaders.length > 2 * limits.headerCount) {
    throw new HttpProblem('headers-too-large', `A request may have at most ${limits.headerCount} headers.`);
  }
}

/**
 * A page of another site must not change anything here with credentials of the browser. Browsers name the origin of a
 * request; a request without one does not come from a browser.
 */
function refuseCrossSite(request: RequestHead, ownHosts: readonly string[]): void {
  const { 'sec-fetch-site': site, origin } = request.headers;
  const isOwn =
    site === undefined
      ? origin === undefined || ownHosts.includes(hostOfOrigin(origin) ?? '')
      : site === 'same-origin' || site === 'none';
  if (isOwn) return;
  throw new HttpProblem('cross-site', 'Cross-site request blocked.');
}

/** `changes`: false for a POST that only reads, such as the forms of map services: other sites may send them. */
export function refuseUnsafe(
  request: RequestHead,
  { trusts, publicUrl }: { readonly trusts: TrustsProxy; readonly publicUrl: string | null },
  changes: boolean,
): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  const own = [ownAddress(request, '', trusts), ...(publicUrl === null ? [] : [publicUrl])];
  const ownHosts = own.map((address) => new URL(address).host);
  if (changes) refuseCrossSite(request, ownHosts);
  refuseEncodedBody(request);
}

/** Refused unread: no request body is ever decompressed. */
function refuseEncodedBody(request: RequestHead): void {
  if (request.headers['content-encoding'] === undefined) return;
  throw new HttpProblem(
    'media-type-unsupported',
    'A request body must not be compressed (Content-Encoding).',
  );
}

function hostOfOrigin(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : null;
}

export function credentialsOf(
  request: RequestHead,
  trusts: TrustsProxy,
  { proxyHeaders }: Pick<Access, 'proxyHeaders'>,
): Credentials {
  const named =
    proxyHeaders && request.headers[proxyHeaders.user.toLowerCase()] !== undefined ? proxyHeaders : null;
  const trusted = named !== null && trusts(peerOf(request).address);
  if (!trusted) named?.ignored();
  return {
    authorization: request.headers.authorization ?? null,
    session: readSessionCookie(request.headers.cookie ?? null, cameBySecureWay(request, trusts)),
    address: sourceAddress(request, trusts),
    host: request.headers.host ?? '',
    proxy: trusted ? signInHeaders(request, named) : null,
  };
}

/** Node.js would join a second line to the first: a client may have added it to the one of its proxy. */
function signInHeaders(request: RequestHead, names: ProxyHeaderNames): ProxyHeaders {
  const user = onlyLine(request, names.user).trim();
  const groups = onlyLine(request, names.groups);
  if (!PROXY_USER.test(user)) {
    throw badSignInHeader(
      names.user,
      'may have letters, digits, spaces and . _ @ + \\ / : | = -, at most 256 characters',
    );
  }
  if (groups.split(',').some((group) => group.length > MAX_GROUP_LENGTH)) {
    throw badSignInHeader(
      names.groups,
      `has groups of at most ${MAX_GROUP_LENGTH} characters, separated by commas`,
    );
  }
  return { user, groups };
}

/** Empty: no user. */
const PROXY_USER = /^[\w.@+\\/:|= -]{0,256}$/;
const MAX_GROUP_LENGTH = 256;

function onlyLine({ rawHeaders }: RequestHead, name: string): string {
  const lines = rawHeaders.filter(
    (_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name.toLowerCase(),
  );
  if (lines.length > 1) throw badSignInHeader(name, 'may come only once');
  return lines[0] ?? '';
}

function badSignInHeader(name: string, rule: string): HttpProblem {
  return new HttpProblem('header-invalid', `The header ${name} of the proxy ${rule}.`);
}

export function cameBySecureWay(request: RequestHead, trusts: TrustsProxy): boolean {
  return ownAddress(request, '', trusts).startsWith('https:');
}

/** The address of the client; behind trusted proxies, the one that they report. */
export function sourceAddress(request: RequestHead, trusts: TrustsProxy): string {
  const { address } = peerOf(request);
  return trusts(address) ? clientBehindProxies(request, address, trusts) : address;
}

/** Some proxies write `203.0.113.9:4711` and `[2001:db8::1]:443`. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

/**
 * Each proxy appends its peer; the last address that is not a trusted proxy is the client. If all are trusted, the first is:
 * if clients in a trusted network shared one address, one of them could throttle all.
 */
function clientBehindProxies(request: RequestHead, peer: string, trusts: TrustsProxy): string {
  const header = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((hop) => withoutMapping(withoutPort(hop.trim())));
  const client = hops.findLast((hop) => hop !== '' && !trusts(hop)) ?? hops.find((hop) => hop !== '');
  return client !== undefined && isIP(client) !== 0 ? client : peer;
}

/** The type that `curl -d` sends for any body. */
export const FORM = 'application/x-www-form-urlencoded';

/** Types of bodies that GeoWebCache's clients send, by the extension of the path. */
export const BODY_TYPES = {
  xml: ['text/xml', 'application/xml', FORM],
  json: ['application/json', 'text/json', FORM],
};

/** Without parameters such as `; charset=utf-8`. Null: missing. */
export function mediaTypeOf(headers: IncomingHttpHeaders): string | null {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? null;
}

/** Throws for another type. Null: no `Content-Type`, which is allowed. */
export function requireMediaType(headers: IncomingHttpHeaders, allowed: readonly string[]): string | null {
  const mediaType = mediaTypeOf(headers);
  if (mediaType === null || allowed.includes(mediaType)) return mediaType;
  throw new HttpProblem('media-type-unsupported', `The Content-Type must be ${allowed.join(' or ')}.`);
}

/** Throws when the body is longer than `limit` bytes, before or while it is read. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = Number(request.headers['content-length'] ?? 0) > limit ? Number.POSITIVE_INFINITY : 0;
  try {
    // The connection stays open: a client that sent too much must be able to read the response.
    const pieces = length > limit ? [] : request.iterator({ destroyOnReturn: false });
    for await (const chunk of pieces) {
      length += chunk.length;
      if (length > limit) break;
      chunks.push(chunk);
    }
  } catch {
    throw new HttpProblem('body-unreadable', 'The body could not be read to its end.');
  }
  if (length > limit) throw new HttpProblem('body-too-large', `A body may have at most ${limit} bytes.`);
  return Buffer.concat(chunks);
}
