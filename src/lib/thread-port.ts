import type { MessagePort, Worker } from 'node:worker_threads';
import type { ProcessPort } from './channel.ts';

/** What a channel goes through between two threads. The memory of an answer's `bytes` is handed over, not copied. */
export function threadPort(port: MessagePort | Worker): ProcessPort {
  const on = (event: string, listener: (message: unknown) => void) => port.on(event as 'message', listener);
  return {
    send(message) {
      port.postMessage(message, ownMemoryOf(message));
      return true;
    },
    on,
    once: (_event, listener) => {
      on('exit', listener);
      on('close', listener);
    },
  };
}

/** A view on memory that others use too is copied. */
function ownMemoryOf(message: unknown): ArrayBuffer[] {
  const { bytes } = (message as { readonly body?: { readonly bytes?: unknown } }).body ?? {};
  if (!(bytes instanceof Uint8Array) || bytes.byteLength !== bytes.buffer.byteLength) return [];
  return [bytes.buffer as ArrayBuffer];
}
