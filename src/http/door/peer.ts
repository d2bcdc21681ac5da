import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { withoutMapping } from './trusted-proxies.ts';

/** Both ends of the connection that a request came by. */
export interface Peer {
  /** Of the caller, or of the proxy before it. */
  readonly address: string;
  readonly localAddress: string;
  readonly localPort: number;
  /** It came by https. */
  readonly secure: boolean;
}

/** Set by our own processes only; see `forward.ts`. */
export const PEER_HEADER = 'x-tilewarden-peer';

const fromOurProcesses = new WeakSet<Socket>();

/** Whoever can connect to this server is a process of ours, and says on whose behalf it asks. */
export function trustPeersOf(server: Server): void {
  server.on('connection', (socket) => fromOurProcesses.add(socket));
}

export function peerOf({ socket, headers }: IncomingMessage): Peer {
  const told = fromOurProcesses.has(socket) ? headers[PEER_HEADER] : undefined;
  if (typeof told === 'string') return JSON.parse(told);
  const { remoteAddress = '', localAddress = '127.0.0.1', localPort = 80 } = socket;
  return { address: withoutMapping(remoteAddress), localAddress, localPort, secure: isEncrypted(socket) };
}

export function cameByTls(request: IncomingMessage): boolean {
  return isEncrypted(request.socket) || (PEER_HEADER in request.headers && peerOf(request).secure);
}

function isEncrypted(socket: Socket): boolean {
  return (socket as TLSSocket).encrypted === true;
}
