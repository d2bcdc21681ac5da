import { Pool } from 'undici';
import { quantile } from '../harness/report.ts';

export interface Latencies {
  readonly requests: number;
  /** Milliseconds. */
  readonly median: number;
  readonly p99: number;
}

const READERS = 2;
/** Milliseconds between a reader's requests, so that the readers themselves leave the processor alone. */
const PAUSE = 2;

/** Asks for cached tiles one after the other until the signal aborts. */
export async function readHits(
  url: string,
  path: (n: number) => string,
  signal: AbortSignal,
): Promise<Latencies> {
  const pool = new Pool(url, { connections: READERS });
  const times: number[] = [];
  let next = 0;
  const read = async () => {
    while (!signal.aborted) {
      const begun = performance.now();
      const { statusCode, headers, body } = await pool.request({ method: 'GET', path: path(next++) });
      await body.arrayBuffer();
      if (statusCode !== 200 || headers['x-cache'] !== 'HIT')
        throw new Error(`${statusCode} ${headers['x-cache']}`);
      times.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  await pool.close();
  return { requests: times.length, median: quantile(times), p99: quantile(times, 0.99) };
}
