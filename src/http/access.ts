import type { Role } from './route.ts';
import { isLoopbackAddress, isLoopbackHost } from './trusted-proxies.ts';

/** Who is asking. */
export interface Caller {
  readonly name: string;
  readonly role: Role;
  /** Patterns of the layers the caller may work on; `*` in one stands for any text. */
  readonly layers: readonly string[];
}

/** What a request carries to say who is asking. */
export interface Credentials {
  readonly authorization: string | null;
  readonly cookie: string | null;
  /** Of the caller; behind a trusted proxy, of the one the proxy speaks for. */
  readonly address: string;
  readonly host: string;
  readonly viaTrustedProxy: boolean;
}

export interface Access {
  /** True: anybody who reaches the server may do everything, so it must not be reached from other machines. */
  readonly loopbackOnly: boolean;
  /** Null: the credentials are missing or wrong. */
  authenticate(credentials: Credentials): Promise<Caller | null>;
}

/** For a server without accounts: whoever is on this machine may do everything. */
export function createLoopbackAccess(): Access {
  const local: Caller = { name: 'local', role: 'admin', layers: ['*'] };
  return {
    loopbackOnly: true,
    async authenticate({ address, host, viaTrustedProxy }) {
      // A page whose name was made to resolve to 127.0.0.1 comes from this machine too, but under its own name.
      const named = viaTrustedProxy || isLoopbackHost(host);
      return named && (viaTrustedProxy || isLoopbackAddress(address)) ? local : null;
    },
  };
}

export function mayWorkOn(caller: Caller, layer: string): boolean {
  return caller.layers.some((pattern) => matchesPattern(pattern, layer));
}

function matchesPattern(pattern: string, layer: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return pattern === layer;
  const fits = layer.length >= first.length + last.length && layer.startsWith(first) && layer.endsWith(last);
  return fits && holdsInOrder(layer.slice(first.length, layer.length - last.length), parts);
}

function holdsInOrder(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}
