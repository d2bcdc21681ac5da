import { BlockList, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { misconfigured } from '../../domain/errors.ts';
import type { RequestHead } from '../request-head.ts';

type Peer = ReturnType<typeof peerOf>;

/** The other end of the connection: the client, or the proxy in front of it. */
export function peerOf({ socket }: Pick<RequestHead, 'socket'>) {
  const { remoteAddress = '', localAddress = '127.0.0.1', localPort = 80 } = socket;
  return { address: withoutMapping(remoteAddress), localAddress, localPort, secure: isEncrypted(socket) };
}

export function isEncrypted(socket: Socket): boolean {
  return (socket as TLSSocket).encrypted === true;
}

/** A host name or address with an optional port; safe inside a URL. */
const HOST = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;
const SCHEME = /^https?$/;
const PREFIX = /^(?:\/[\w.~-]+)+$/;

/**
 * The address that the client used, with the prefix and without a trailing slash: `https://maps.example/geowebcache`.
 * `X-Forwarded-*` counts only from a trusted proxy.
 */
export function ownAddress(request: RequestHead, prefix: string, trusts: TrustsProxy): string {
  const peer = peerOf(request);
  const forwarded = trusts(peer.address) ? request.headers : {};
  const host = firstOf(forwarded['x-forwarded-host'], isHost) ?? hostOf(request, peer);
  const scheme =
    firstOf(forwarded['x-forwarded-proto'], (text) => SCHEME.test(text)) ?? (peer.secure ? 'https' : 'http');
  const outerPrefix = firstOf(forwarded['x-forwarded-prefix'], (text) => PREFIX.test(text)) ?? '';
  return `${scheme}://${host}${outerPrefix}${prefix}`;
}

/** Also rejects invalid IPv4 addresses and ports. */
export function isHost(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}`);
}

/** Proxies append to these headers; the first value is the client's. */
function firstOf(header: string | string[] | undefined, isGood: (text: string) => boolean): string | null {
  const text = Array.isArray(header) ? header[0] : header;
  const first = text?.split(',')[0]?.trim();
  return first !== undefined && isGood(first) ? first : null;
}

function hostOf({ headers: { host = '' } }: RequestHead, { localAddress, localPort }: Peer): string {
  if (isHost(host)) return host;
  return localAddress.includes(':') ? `[${localAddress}]:${localPort}` : `${localAddress}:${localPort}`;
}

/** Whether `X-Forwarded-*` from this address is trusted. */
export type TrustsProxy = (address: string) => boolean;

/** `entries`: addresses and networks, e.g. `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. */
export function createProxyTrust(entries: readonly string[]): TrustsProxy {
  if (entries.length === 0) return () => false;
  const list = new BlockList();
  for (const entry of entries) addEntry(list, entry);
  return (address) => {
    const plain = withoutMapping(address);
    return list.check(plain, familyOf(plain));
  };
}

const PREFIX_BITS = /^\d{1,3}$/;

/** `BlockList` rejects invalid addresses: compiling the regular expression of `isIP()` delays a start by milliseconds. */
function addEntry(list: BlockList, entry: string): void {
  const [address = '', bits = null, ...rest] = entry.split('/');
  try {
    if (rest.length > 0 || (bits !== null && !PREFIX_BITS.test(bits))) throw new RangeError(entry);
    if (bits === null) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  } catch {
    throw misconfigured(`trustedProxies: ${entry} is neither an address nor a network such as 10.0.0.0/8.`);
  }
}

/** Texts that are not addresses match no list, whatever the result. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  // An IPv6 address has several colons; a name or IPv4 address with a port has one.
  return address.indexOf(':') === address.lastIndexOf(':') ? 'ipv4' : 'ipv6';
}

/** A dual-stack socket shows an IPv4 client as `::ffff:10.0.0.7`. */
export function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

const LOOPBACK = createProxyTrust(['127.0.0.0/8', '::1']);

export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK(address);
}

/** `host` as in an address or a setting, with or without a port. */
export function isLoopbackHost(host: string): boolean {
  const name = host.startsWith('[')
    ? host.slice(1).split(']', 1).join()
    : familyOf(host) === 'ipv6'
      ? host
      : host.replace(/:\d+$/, '');
  return name.toLowerCase() === 'localhost' || isLoopbackAddress(name);
}
