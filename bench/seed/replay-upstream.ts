import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Pictures, placeOf } from './pictures.ts';

export interface ReplayUpstream {
  readonly url: string;
  /** Since the last reset. */
  readonly requests: number;
  /** Of the time between the first request and the last answer, the share in which no request was under way. */
  readonly idleShare: number;
  reset(pictures: Pictures, delayMs: number): void;
  close(): Promise<void>;
}

/** A WMS that sends pictures that were made before, each after the same time. */
export async function openReplayUpstream(): Promise<ReplayUpstream> {
  let pictures: Pictures | null = null;
  let delayMs = 0;
  let [requests, active, idleMs, busyMs, changedAt] = [0, 0, 0, 0, 0];

  function count(change: 1 | -1): void {
    const now = performance.now();
    if (requests > 0 && active === 0) idleMs += now - changedAt;
    if (active > 0) busyMs += now - changedAt;
    active += change;
    changedAt = now;
  }

  const server = createServer((request, response) => {
    count(1);
    requests++;
    response.on('close', () => count(-1));
    const bytes = pictures?.of(placeOf(new URLSearchParams(request.url?.toLowerCase().split('?')[1])));
    const headers = { 'content-type': pictures?.mediaType, 'content-length': bytes?.length };
    const answer = () => response.writeHead(200, headers).end(bytes);
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/wms`,
    get requests() {
      return requests;
    },
    get idleShare() {
      return idleMs / Math.max(1, idleMs + busyMs);
    },
    reset(next, delay) {
      [pictures, delayMs] = [next, delay];
      [requests, active, idleMs, busyMs] = [0, 0, 0, 0];
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
