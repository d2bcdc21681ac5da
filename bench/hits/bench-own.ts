// Our own code for a hit, from the chunk of a request to the composed answer: no sockets, nothing read from a store.
// npm run bench -- own [--requests 30000] [--rounds 9] [--bytes 2300]. Processor time; aim: at most 10 µs.
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHttpApp } from '../../src/http/http-app.ts';
import type { CachedTile } from '../../src/pipeline/tile-pipeline.ts';
import { LISTENING, testDeps } from '../../test/fixtures/http-app.ts';
import { readOptions } from '../harness/options.ts';
import { judge, quantile, sayMachine } from '../harness/report.ts';

const { requests, rounds, bytes } = readOptions({ requests: 30_000, rounds: 9, bytes: 2300 });
const CONNECTIONS = 32;
const WARM_REQUESTS = 100_000;
const AIM_US = 10;
const ZOOM = 12;
const body = Buffer.alloc(bytes, 1);

class FakeSocket extends EventEmitter {
  readonly remoteAddress = '127.0.0.1';
  readonly destroyed = false;
  readonly writableLength = 0;
  sent = 0;
  setTimeout(): void {}
  write(chunk: Buffer): void {
    this.sent += chunk.length;
  }
}

/** `kept`: a tile is the same object for each request, as from memory. */
async function measure(name: string, tiles: number, kept: Map<string, CachedTile> | null): Promise<void> {
  const make = (x: number, y: number): CachedTile => {
    const createdAt = 1.76e12 + (x * 64 + y) * 1000;
    return { bytes: body, createdAt, freshUntil: null, checksum: x * 7919 + y, outcome: 'HIT' };
  };
  const read = (_: unknown, { x, y }: { readonly x: number; readonly y: number }): CachedTile => {
    if (!kept) return make(x, y);
    const tile = kept.get(`${x} ${y}`) ?? make(x, y);
    kept.set(`${x} ${y}`, tile);
    return tile;
  };
  const { server } = createHttpApp({ ...testDeps(), pipeline: { read } }, LISTENING);
  const sockets = Array.from({ length: CONNECTIONS }, () => new FakeSocket());
  for (const socket of sockets) server.emit('connection', socket);
  const chunks = Array.from({ length: tiles }, (_, at) =>
    Buffer.from(
      `GET /tiles/world/${ZOOM}/${(at * 7) % 4096}/${(at * 13) % 4096}.png HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ),
  );
  let at = 0;
  const round = async (count: number): Promise<number> => {
    const before = process.cpuUsage();
    for (let done = 0; done < count; done += CONNECTIONS) {
      for (const socket of sockets) socket.emit('data', chunks[at++ % tiles]);
      await nextTurn();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  };
  await round(WARM_REQUESTS);
  const figures: number[] = [];
  for (let i = 0; i < rounds; i++) figures.push(await round(requests));
  if (sockets.some(({ sent }) => sent < bytes)) throw new Error('A connection was not answered.');
  judge(`${name}, least of ${rounds} rounds`, quantile(figures, 0), AIM_US, 'µs');
}

sayMachine();
await measure('from memory, 256 tiles', 256, new Map());
await measure('composed for each request, 256 tiles', 256, null);
await measure('composed for each request, 100,000 tiles, no address repeated soon', 100_000, null);
process.exit();
