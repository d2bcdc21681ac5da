import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Latencies, readHits } from './read-hits.ts';

/**
 * Reads hits in a process of its own, so that what the measurement does meanwhile does not count as waiting. It is
 * this same file: started with an address, a layer, a zoom and a side it reads until it is stopped.
 */
export interface ReaderProcess {
  /** What was read since the last call, or since the start. */
  latencies(): Promise<Latencies>;
  stop(): Promise<void>;
}

export interface ReadTiles {
  readonly url: string;
  readonly layer: string;
  readonly zoom: number;
  /** Tiles along a side of the square that is read. */
  readonly side: number;
}

export function startReaderProcess({ url, layer, zoom, side }: ReadTiles): ReaderProcess {
  const reader = fork(fileURLToPath(import.meta.url), [url, layer, String(zoom), String(side)]);
  const endWithUs = () => void reader.kill('SIGKILL');
  process.once('exit', endWithUs);
  reader.once('exit', () => process.off('exit', endWithUs));
  return {
    async latencies() {
      const answer = once(reader, 'message') as Promise<[Latencies]>;
      reader.send('latencies');
      return (await answer)[0];
    },
    stop: () => stop(reader),
  };
}

async function stop(reader: ChildProcess): Promise<void> {
  const ended = once(reader, 'exit');
  reader.disconnect();
  await ended;
}

async function readUntilDisconnected(url: string, layer: string, zoom: string, side: number): Promise<void> {
  const path = (n: number) => {
    const place = (n * 2654435761) % side ** 2;
    return `/tiles/${layer}/${zoom}/${place % side}/${Math.floor(place / side)}.png`;
  };
  const ending = new AbortController();
  process.once('disconnect', () => ending.abort());
  let asked = new AbortController();
  process.on('message', () => asked.abort());
  while (!ending.signal.aborted) {
    const latencies = await readHits(url, path, AbortSignal.any([asked.signal, ending.signal]));
    asked = new AbortController();
    if (process.connected) process.send?.(latencies);
  }
}

const [url, layer = '', zoom = '', side] = process.argv.slice(2);
if (process.send && url) await readUntilDisconnected(url, layer, zoom, Number(side));
