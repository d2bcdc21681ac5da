import { connect } from 'node:net';
import { WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';

export interface RawResponse {
  /** Null when the connection ended without one. */
  readonly status: number | null;
  readonly text: string;
  /** Until the first byte of the answer, or the end. */
  readonly ms: number;
}

/** Sends bytes unchanged and reads until the connection ends or a response is complete. */
export function rawRequest(url: string, bytes: Buffer | string, from = '127.0.0.1'): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const began = performance.now();
    const chunks: Buffer[] = [];
    let first: number | null = null;
    const socket = connect({ host: hostname, port: Number(port), localAddress: from });
    const finish = () => {
      socket.destroy();
      const text = Buffer.concat(chunks).toString('latin1');
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      resolve({ status: status ? Number(status) : null, text, ms: first ?? performance.now() - began });
    };
    socket.setTimeout(WAIT_TIMEOUT_MS, finish);
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      first ??= performance.now() - began;
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks).toString('latin1'))) finish();
    });
    socket.on('error', finish);
    socket.on('close', finish);
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1];
  return length !== undefined && text.length >= end + 4 + Number(length);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
