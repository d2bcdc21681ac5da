import type { Authenticator, Presented } from '../access/authenticator.ts';
import type { Caller } from '../access/caller.ts';
import { readSessionCookie } from './session-cookie.ts';
import { isLoopbackAddress, isLoopbackHost } from './trusted-proxies.ts';

/** What a request carries to say who is asking. */
export interface Credentials {
  readonly authorization: string | null;
  readonly cookie: string | null;
  /** Of the caller; behind a trusted proxy, of the one the proxy speaks for. */
  readonly address: string;
  readonly host: string;
  readonly viaTrustedProxy: boolean;
  /** The caller came by https. */
  readonly secure: boolean;
}

export interface Access {
  /** True: anybody who reaches the server may do everything, so it must not be reached from other machines. */
  readonly loopbackOnly: boolean;
  /** Null: the credentials are missing or wrong. Throws `attempts-throttled`. */
  authenticate(credentials: Credentials): Promise<Caller | null>;
  /** Whether these credentials would still let in this caller as it is. */
  stillHolds(credentials: Credentials, caller: Caller): Promise<boolean>;
}

export function createAccountAccess(
  authenticator: Pick<Authenticator, 'authenticate' | 'stillHolds'>,
): Access {
  return {
    loopbackOnly: false,
    authenticate: (credentials) => authenticator.authenticate(presentedIn(credentials)),
    stillHolds: (credentials, caller) => authenticator.stillHolds(presentedIn(credentials), caller),
  };
}

function presentedIn({ authorization, cookie, address, secure }: Credentials): Presented {
  return { authorization, session: readSessionCookie(cookie, secure), address };
}

/** For a server without accounts: whoever is on this machine may do everything. */
export function createLoopbackAccess(): Access {
  const local: Caller = { name: 'local', role: 'admin', layers: ['*'], via: 'machine' };
  return {
    loopbackOnly: true,
    async authenticate({ address, host, viaTrustedProxy }) {
      // A page whose name was made to resolve to 127.0.0.1 comes from this machine too, but under its own name.
      const named = viaTrustedProxy || isLoopbackHost(host);
      return named && (viaTrustedProxy || isLoopbackAddress(address)) ? local : null;
    },
    stillHolds: async () => true,
  };
}
