import { type LookupAddress, lookup as resolveName } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Never a map server: this host by another name, link-local with the clouds' metadata services, multicast, reserved;
 * and the IPv6 forms in which a translator or tunnel would carry a link-local IPv4 address, or any at all unseen.
 */
const NEVER = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.192/32',
  '100.100.100.200/32',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::254/128',
  '168.63.129.16/32',
  '::a9fe:0/112',
  '::ffff:0:0:0/96',
  '64:ff9b::a9fe:0/112',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002:a9fe::/32',
];
/** Loopback, private, carrier-grade NAT, benchmarking, and IPv6 forms that carry an IPv4 address. */
const PRIVATE = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '::/96',
  'fc00::/7',
  'fec0::/10',
  '64:ff9b::/96',
  '2002::/16',
];

export interface AddressGuard {
  /** Whether a literal address may be spoken to; names are judged when they are resolved. */
  allowsHost(hostname: string): boolean;
  /** For sockets: a name of which any address is not allowed does not resolve. */
  readonly lookup: LookupFunction;
}

export class AddressRefused extends Error {
  constructor(hostname: string) {
    super(`${hostname} is at an address that is not allowed; see allowPrivate in the upstreams settings`);
    this.name = 'AddressRefused';
  }
}

/** Every address is judged at connect time, so a name that later resolves elsewhere gains nothing. */
export function createAddressGuard(options: { readonly allowPrivate: boolean }): AddressGuard {
  const blocked = blockListOf(options.allowPrivate ? NEVER : [...NEVER, ...PRIVATE]);
  const allows = (address: string) => !blocked.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return {
    allowsHost(hostname) {
      const literal = hostname.replace(/^\[(.*)\]$/, '$1');
      return isIP(literal) === 0 || allows(literal);
    },
    lookup(hostname, lookupOptions, callback) {
      resolveName(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
        if (error) return void callback(error, '');
        if (!addresses.every(({ address }) => allows(address)))
          return void callback(new AddressRefused(hostname), '');
        answerLookup(addresses, lookupOptions.all === true, callback);
      });
    },
  };
}

function answerLookup(
  addresses: LookupAddress[],
  all: boolean,
  callback: Parameters<LookupFunction>[2],
): void {
  const first = addresses[0];
  if (!all && first) callback(null, first.address, first.family);
  else callback(null, addresses);
}

function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = '', prefix = ''] = subnet.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
