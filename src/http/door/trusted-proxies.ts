import { BlockList, isIP } from 'node:net';
import { misconfigured } from '../../domain/errors.ts';

/** Says whether a socket's address is a proxy whose `X-Forwarded-*` headers are believed. */
export type TrustsProxy = (address: string) => boolean;

/** `entries`: addresses and networks, e.g. `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. */
export function createProxyTrust(entries: readonly string[]): TrustsProxy {
  if (entries.length === 0) return () => false;
  const list = new BlockList();
  for (const entry of entries) addEntry(list, entry);
  return (address) => {
    const plain = withoutMapping(address);
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 6 ? 'ipv6' : 'ipv4');
  };
}

function addEntry(list: BlockList, entry: string): void {
  const [address = '', bits] = entry.split('/');
  const version = isIP(address);
  const prefix = bits === undefined ? null : Number(bits);
  const mostBits = version === 6 ? 128 : 32;
  if (
    version === 0 ||
    (prefix !== null && !(Number.isInteger(prefix) && prefix >= 0 && prefix <= mostBits))
  ) {
    throw misconfigured(`trustedProxies: ${entry} is neither an address nor a network such as 10.0.0.0/8.`);
  }
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (prefix === null) list.addAddress(address, family);
  if (prefix !== null) list.addSubnet(address, prefix, family);
}

/** `::ffff:10.0.0.7`, as a socket that listens on both families shows an IPv4 caller, is 10.0.0.7. */
export function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

const LOOPBACK = createProxyTrust(['127.0.0.0/8', '::1']);

export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK(address);
}

/** A host as one writes it in an address or a setting; with or without a port. */
export function isLoopbackHost(host: string): boolean {
  const name = host.startsWith('[') ? host.slice(1).replace(/\].*$/, '') : hostWithoutPort(host);
  return name.toLowerCase() === 'localhost' || isLoopbackAddress(name);
}

function hostWithoutPort(host: string): string {
  return isIP(host) === 6 ? host : host.replace(/:\d+$/, '');
}
