import { type LookupAddress, lookup as resolveName } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { invalid } from '../../domain/errors.ts';
import { remembered } from '../../lib/get-or-create.ts';
import { hostAndPort, type UpstreamSettings, upstreamOptionsFor } from './upstream-options.ts';

/**
 * Never allowed: this host by another name, link-local with the clouds' metadata services, multicast, reserved; and
 * IPv6 forms by which a translator or tunnel carries a link-local IPv4 address, or one that cannot be checked here.
 */
const NEVER = [
  ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.192/32', '100.100.100.200/32', '168.63.129.16/32'],
  ...['224.0.0.0/4', '240.0.0.0/4', '::/128', 'fe80::/10', 'ff00::/8', 'fd00:ec2::254/128', '::a9fe:0/112'],
  ...['::ffff:0:0:0/96', '64:ff9b::a9fe:0/112', '64:ff9b:1::/48', '2001::/32', '2002:a9fe::/32'],
];
/** These and loopback, private, carrier-grade NAT, benchmarking, and IPv6 forms that carry an IPv4 address. */
const PRIVATE = [
  ...NEVER,
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '192.0.0.0/24'],
  ...['198.18.0.0/15', '::/96', 'fc00::/7', 'fec0::/10', '64:ff9b::/96', '2002::/16'],
];

const KINDS = {
  never: 'a link-local, metadata or reserved address',
  private: 'a loopback or private address',
  foreign: 'a loopback or private address',
  unknown: 'an address that this server cannot resolve, to check it before the proxy is asked',
};

export class AddressRefused extends Error {
  /** For callers, who must not learn the address of a source. */
  readonly advice: string;
  /** No setting allows it. */
  readonly isNever: boolean;

  constructor(hostname: string, kind: keyof typeof KINDS) {
    const what = KINDS[kind];
    super(`${hostname} is at ${what}`);
    this.name = 'AddressRefused';
    this.isNever = kind === 'never';
    this.advice =
      kind === 'foreign'
        ? `The map source sends requests on to ${what}. Only hosts in its own declaration may have one.`
        : this.isNever
          ? `The map source is at ${what}, to which no request is sent.`
          : `The map source is at ${what}. Allow its host in the configuration file, under upstreams, with allowPrivate: true.`;
  }
}

/** Addresses are checked at connect time, so that a name that resolves to another one later is refused too. */
export function createAddressGuard(options: {
  readonly allowPrivate: boolean;
  /** False: a document of an upstream names the host, not a declaration. */
  readonly isOwn?: boolean;
}) {
  const notAllowed = options.isOwn === false ? 'foreign' : 'private';
  const never = fixedList(NEVER);
  const blocked = options.allowPrivate ? never : fixedList(PRIVATE);
  const refusalFor = (hostname: string, addresses: readonly Pick<LookupAddress, 'address'>[]) => {
    const refused = addresses.filter(({ address }) => isIn(blocked, address));
    if (refused.length === 0) return null;
    const isNever = refused.some(({ address }) => isIn(never, address));
    return new AddressRefused(hostname, isNever ? 'never' : notAllowed);
  };
  return {
    /** Why a literal address is refused; null: it is allowed. Names are checked when they are resolved. */
    refuses(hostname: string): AddressRefused | null {
      // RFC 6761, 6.3: these names are this machine, whatever a resolver says.
      const literal = /(^|\.)localhost$/i.test(hostname) ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1');
      return isIP(literal) === 0 ? null : refusalFor(hostname, [{ address: literal }]);
    },
    /** For a name that a proxy resolves again. One that only the proxy can resolve needs `allowPrivate`. */
    async judge(hostname: string): Promise<AddressRefused | null> {
      if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0) return null;
      const addresses = await lookup(hostname, { all: true }).catch(() => []);
      if (addresses.length === 0 && !options.allowPrivate) return new AddressRefused(hostname, 'unknown');
      return refusalFor(hostname, addresses);
    },
    /** For sockets: a name with a forbidden address does not resolve. */
    lookup(...[hostname, lookupOptions, callback]: Parameters<LookupFunction>) {
      resolveName(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
        const failure = error ?? refusalFor(hostname, addresses);
        const [first] = failure ? [] : addresses;
        if (failure) callback(failure, '');
        else if (first && !lookupOptions.all) callback(null, first.address, first.family);
        else callback(null, addresses);
      });
    },
  };
}

export function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Built once: to build a list takes as long as to check a declaration. */
const fixedList = remembered(blockListOf);

export function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = '', prefix = ''] = subnet.split('/');
    list.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

const ADDRESS = /^https?:\/\//i;

/** Every `host:port` in the settings of sources, in any option. */
export function hostsNamedIn(settings: unknown): ReadonlySet<string> {
  return new Set(
    addressesIn(settings, [''])
      .filter((address) => URL.canParse(address))
      .map((address) => hostAndPort(new URL(address))),
  );
}

/** `{s}` is one of several subdomains; other placeholders come after the host. */
function addressesIn(value: unknown, subdomains: readonly string[]): readonly string[] {
  if (typeof value === 'string') {
    return ADDRESS.test(value) ? subdomains.map((name) => value.replaceAll('{s}', name)) : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const own =
    'subdomains' in value && Array.isArray(value.subdomains) ? value.subdomains.map(String) : subdomains;
  return Object.values(value).flatMap((inner) => addressesIn(inner, own));
}

interface HostSettings {
  readonly upstreams: UpstreamSettings;
  readonly layers: readonly { readonly source: unknown; readonly updateSources: unknown }[];
  readonly changes: readonly object[];
  readonly follow: readonly object[];
}

/** The hosts that sources may use, by the current settings. `advice`: how to allow a host in a private network. */
export function createHostRules(settings: HostSettings, advice: (host: string) => string) {
  let { upstreams } = settings;
  let configured = hostsOf(settings);
  const guard = createAddressGuard({ allowPrivate: false });
  /** Whether the configuration names the host. */
  const has = (host: string) => configured.has(host);
  return {
    get upstreams(): UpstreamSettings {
      return upstreams;
    },
    has,
    applySettings(next: HostSettings): void {
      upstreams = next.upstreams;
      configured = hostsOf(next);
    },
    /**
     * Throws for a source in a private network that the configuration file does not allow: all its requests would be
     * refused. Names are checked when they are resolved.
     */
    admit(source: unknown): void {
      for (const host of hostsNamedIn(source)) {
        if (has(host) || upstreamOptionsFor(upstreams, host).allowPrivate) continue;
        const refusal = guard.refuses(host.replace(/:\d+$/, ''));
        if (refusal) throw invalid(`source: ${refusal.isNever ? refusal.advice : advice(host)}`);
      }
    },
  };
}

function hostsOf({ layers, changes, follow }: HostSettings): ReadonlySet<string> {
  return hostsNamedIn([
    ...layers.flatMap(({ source, updateSources }) => [source, updateSources]),
    ...changes,
    ...follow,
  ]);
}
