import { TilewardenError } from '../../domain/errors.ts';
import { createAddressGuard } from './address-guard.ts';
import { hostsNamedIn } from './hosts-named-in.ts';

/**
 * For sources that come over the network: an address that would be refused whenever it is asked is refused at once.
 * Names are judged when they are resolved.
 */
export function refusePrivate(source: unknown, isAllowed: (host: string) => boolean): void {
  const guard = createAddressGuard({ allowPrivate: false });
  for (const host of hostsNamedIn(source)) {
    if (isAllowed(host) || !guard.refuses(host.replace(/:\d+$/, ''))) continue;
    throw new TilewardenError(
      'request-invalid',
      `source names ${host}, a loopback, private or reserved address. Over HTTP it is accepted only if the configuration file allows the host, with upstreams: { '${host}': { allowPrivate: true } }.`,
    );
  }
}
