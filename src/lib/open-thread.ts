import { type MessagePort, parentPort, type Worker } from 'node:worker_threads';
import {
  type Channel,
  createChannel,
  type ErrorCopier,
  type MessageKind,
  type ProcessPort,
} from './channel.ts';
import type { Logger } from './logger.ts';

interface ThreadOptions {
  readonly start: () => Worker;
  readonly errors: ErrorCopier;
  readonly log: Logger;
  /** Logged when it dies. */
  readonly died: string;
  /** Handles requests of the thread. */
  readonly onStart?: (channel: Channel) => void;
}

/** A thread that starts with the first `ask`; after a crash, with the next. Idle, it keeps no process alive. */
export function openThread({ start, errors, log, died, onStart }: ThreadOptions) {
  let running: { readonly thread: Worker; readonly channel: Channel } | null = null;
  let questions = 0;

  function launch() {
    const thread = start();
    const channel = createChannel(threadPort(thread), errors);
    onStart?.(channel);
    thread.on('error', (error) => log.error({ err: error }, died));
    thread.once('exit', () => {
      if (running?.thread === thread) running = null;
    });
    return { thread, channel };
  }

  return {
    /** Starts it ahead of the first `ask`. */
    start(): void {
      running ??= launch();
    },
    async ask<Body, Reply>(kind: MessageKind<Body, Reply>, body: Body): Promise<Reply> {
      running ??= launch();
      const { thread, channel } = running;
      questions++;
      thread.ref();
      return channel.ask(kind, body).finally(() => {
        if (--questions === 0) thread.unref();
      });
    },
    tell<Body>(kind: MessageKind<Body>, body: Body): void {
      running?.channel.tell(kind, body);
    },
    async close(): Promise<void> {
      await running?.thread.terminate();
    },
  };
}

/** For the file of a thread. */
export function channelToParent(errors: ErrorCopier): Channel {
  if (!parentPort) throw new Error('This file is started as a thread.');
  return createChannel(threadPort(parentPort), errors);
}

/** The port of a channel between two threads. The memory of a message's `bytes` is transferred, not copied. */
function threadPort(port: MessagePort | Worker): ProcessPort {
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
