import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { TilewardenError } from '../../domain/errors.ts';
import { PEER_HEADER, peerOf } from '../door/peer.ts';

/** RFC 9110, 7.6.1: these are between two neighbours. `Expect` was answered here. */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  PEER_HEADER,
]);
/** Milliseconds that an idle connection to the primary is kept: less than the primary keeps it. */
const IDLE_FOR = 30_000;

/** `socketPath`: where the primary listens for its processes. */
export function createForwarder(socketPath: string) {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_FOR });
  let held: Promise<void> | null = null;
  let release = () => {};

  return {
    /** Lets the primary answer. Rejects while nothing is answered yet. */
    async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
      while (held) await held;
      if (request.socket.destroyed) return;
      const { method, url: path } = request;
      const asking = httpRequest({ socketPath, agent, method, path, headers: headersToPrimary(request) });
      response.once('close', () => asking.destroy());
      request.pipe(asking);
      const [answer] = (await once(asking, 'response').catch((cause: unknown) => {
        throw new TilewardenError('stopping', 'The server cannot answer now.', { cause });
      })) as [IncomingMessage];
      // The primary may cut what it has refused to read; whoever sends it has its answer.
      asking.on('error', () => {});
      asking.once('close', () => request.unpipe(asking).resume());
      relay(answer, response);
    },
    /** What comes from now on waits. */
    hold(): void {
      held ??= new Promise((resolve) => {
        release = resolve;
      });
    },
    goOn(): void {
      held = null;
      release();
    },
    close: (): void => agent.destroy(),
  };
}

function relay(answer: IncomingMessage, response: ServerResponse): void {
  const headers = withoutNeighbours(answer.rawHeaders, ['transfer-encoding']);
  response.writeHead(answer.statusCode ?? 502, headers);
  answer.once('error', () => response.destroy());
  answer.pipe(response);
}

function headersToPrimary(request: IncomingMessage): readonly string[] {
  const peer = peerOf(request);
  const headers = withoutNeighbours(request.rawHeaders, []);
  if (request.headers.host === undefined) headers.push('Host', `${peer.localAddress}:${peer.localPort}`);
  headers.push(PEER_HEADER, JSON.stringify(peer), 'Connection', 'keep-alive');
  return headers;
}

function withoutNeighbours(raw: readonly string[], also: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    const plain = name.toLowerCase();
    if (!OF_ONE_CONNECTION.has(plain) && !also.includes(plain)) kept.push(name, value);
  }
  return kept;
}
