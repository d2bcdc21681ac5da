import { isIP } from 'node:net';
import { blockListOf, isIn } from './address-guard.ts';

/** Proxies for requests to other servers; credentials are in the clear. Null: no proxy. */
export interface OutboundProxies {
  /** For `http:` addresses. */
  readonly http: string | null;
  readonly https: string | null;
  /** The format of NO_PROXY: hosts, suffixes and subnets without the proxy; `*` for all. */
  readonly except: string;
}

export const NO_PROXIES: OutboundProxies = { http: null, https: null, except: '' };

/** Never proxied: it would be the loopback of the proxy's machine. */
const LOOPBACK = 'localhost,127.0.0.0/8,::1/128';

/** The proxy for an address; null: none. */
export function proxyFor(proxies: OutboundProxies, url: URL): string | null {
  const proxy = url.protocol === 'https:' ? proxies.https : proxies.http;
  if (proxy === null) return null;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const entries = `${LOOPBACK},${proxies.except}`.split(/[\s,]+/).filter(Boolean);
  return entries.some((entry) => isExcept(entry.toLowerCase(), host, port)) ? null : proxy;
}

/** `example.org`, `.example.org` and `*.example.org` mean the host and its subdomains; a port may follow. */
function isExcept(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (isInSubnet(entry, host)) return true;
  const [, name = entry, onlyPort] = /^(.+):(\d+)$/.exec(isIP(entry) === 6 ? '' : entry) ?? [];
  const suffix = name.replace(/^\*?\./, '').replace(/^\[(.*)\]$/, '$1');
  return (onlyPort ?? port) === port && (host === suffix || host.endsWith(`.${suffix}`));
}

/** Only literal addresses are compared: names are resolved by the proxy. */
function isInSubnet(entry: string, host: string): boolean {
  const [address = '', prefix = ''] = entry.split('/');
  const [family, version] = [isIP(address), isIP(host)];
  if (family === 0 || family !== version || !/^\d+$/.test(prefix)) return false;
  if (Number(prefix) > (family === 6 ? 128 : 32)) return false;
  return isIn(blockListOf([entry]), host);
}

/** The addresses of the proxies, without credentials. */
export function shownProxies({ http, https }: OutboundProxies) {
  return { http: http && new URL(http).origin, https: https && new URL(https).origin };
}
