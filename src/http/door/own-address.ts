import type { IncomingMessage } from 'node:http';
import { type Peer, peerOf } from './peer.ts';
import type { TrustsProxy } from './trusted-proxies.ts';

/** A host name or address with an optional port: what may be put into an address without further ado. */
const HOST = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;
const SCHEME = /^https?$/;
const PREFIX = /^(?:\/[\w.~-]+)+$/;

/**
 * The address the caller reached us by, with the prefix and without a closing slash: `https://maps.example/geowebcache`.
 * What a proxy says in `X-Forwarded-*` counts only if the proxy is trusted.
 */
export function ownAddress(request: IncomingMessage, prefix: string, trusts: TrustsProxy): string {
  const peer = peerOf(request);
  const forwarded = trusts(peer.address) ? request.headers : {};
  const host = firstOf(forwarded['x-forwarded-host'], isHost) ?? hostOf(request, peer);
  const scheme =
    firstOf(forwarded['x-forwarded-proto'], (text) => SCHEME.test(text)) ?? (peer.secure ? 'https' : 'http');
  const outerPrefix = firstOf(forwarded['x-forwarded-prefix'], (text) => PREFIX.test(text)) ?? '';
  return `${scheme}://${host}${outerPrefix}${prefix}`;
}

/** What looks like an IPv4 address or a port must also be one. */
export function isHost(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}`);
}

/** Proxies append to these headers; the first value is the one the caller used. */
function firstOf(header: string | string[] | undefined, isGood: (text: string) => boolean): string | null {
  const text = Array.isArray(header) ? header[0] : header;
  const first = text?.split(',')[0]?.trim();
  return first !== undefined && isGood(first) ? first : null;
}

function hostOf({ headers: { host = '' } }: IncomingMessage, { localAddress, localPort }: Peer): string {
  if (isHost(host)) return host;
  return localAddress.includes(':') ? `[${localAddress}]:${localPort}` : `${localAddress}:${localPort}`;
}
