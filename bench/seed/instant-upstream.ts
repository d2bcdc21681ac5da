import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Canvas, createCanvas } from '@napi-rs/canvas';

export interface InstantUpstream {
  readonly url: string;
  /** Since the last reset. */
  readonly requests: number;
  /** Milliseconds in which no request was under way, between the first and the last. */
  readonly idleMs: number;
  readonly busyMs: number;
  reset(): void;
  close(): Promise<void>;
}

/** A WMS that answers at once: it draws a picture for each size one time and sends it again and again. */
export async function openInstantUpstream(): Promise<InstantUpstream> {
  const pictures = new Map<string, Buffer>();
  let [requests, active, idleMs, busyMs, changedAt] = [0, 0, 0, 0, 0];

  function count(change: 1 | -1): void {
    const now = performance.now();
    if (requests > 0) {
      if (active === 0) idleMs += now - changedAt;
      else busyMs += now - changedAt;
    }
    active += change;
    changedAt = now;
  }

  const server = createServer((request, response) => {
    const query = new URLSearchParams(request.url?.toLowerCase().split('?')[1]);
    const size = `${query.get('width')}x${query.get('height')}`;
    const picture = pictures.get(size) ?? draw(Number(query.get('width')), Number(query.get('height')));
    pictures.set(size, picture);
    count(1);
    requests++;
    response.on('close', () => count(-1));
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': picture.length }).end(picture);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/wms`,
    get requests() {
      return requests;
    },
    get idleMs() {
      return idleMs;
    },
    get busyMs() {
      return busyMs;
    },
    reset() {
      [requests, active, idleMs, busyMs] = [0, 0, 0, 0];
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Lines and areas over a ground, about as hard to encode as a road map. */
function draw(width: number, height: number): Buffer {
  const canvas: Canvas = createCanvas(width, height);
  const context = canvas.getContext('2d');
  context.fillStyle = '#eef0e4';
  context.fillRect(0, 0, width, height);
  for (let i = 0; i < (width * height) / 3000; i++) {
    const [x, y] = [(i * 7919) % width, (i * 104729) % height];
    context.fillStyle = `hsl(${(i * 47) % 360} 40% 70%)`;
    context.fillRect(x, y, 10 + (i % 40), 5 + (i % 30));
    context.strokeStyle = `hsl(${(i * 31) % 360} 60% 45%)`;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo((x + 137) % width, (y + 211) % height);
    context.stroke();
  }
  return canvas.toBuffer('image/png');
}
