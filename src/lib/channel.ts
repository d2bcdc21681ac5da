import { createDeferred, type Deferred } from './deferred.ts';

/** A kind of message between two processes, with the types of its body and its reply. */
export interface MessageKind<Body, Reply = void> {
  readonly name: string;
  /** For the compiler only. */
  readonly types?: (body: Body) => Reply;
}

export function messageKind<Body = null, Reply = void>(name: string): MessageKind<Body, Reply> {
  return { name };
}

/** The part of `process`, or of a process that was forked, that messages go through. */
export interface ProcessPort {
  readonly connected?: boolean;
  send?(
    message: unknown,
    handle: undefined,
    options: undefined,
    sent: (error: Error | null) => void,
  ): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
}

export interface ErrorCopier {
  write(error: unknown): unknown;
  read(written: unknown): unknown;
}

/** Both sides make one over the same pair of processes. Messages arrive in the order they were sent. */
export interface Channel {
  /** Sends a message without a reply. One to a process that has ended is lost. */
  tell<Body>(kind: MessageKind<Body>, body: Body): void;
  /** Rejects with the handler's error, or `ChannelClosed`. */
  ask<Body, Reply>(kind: MessageKind<Body, Reply>, body: Body): Promise<Reply>;
  /** One handler for each kind; earlier messages wait for it. */
  handle<Body, Reply>(kind: MessageKind<Body, Reply>, handler: (body: Body) => Reply | Promise<Reply>): void;
}

export class ChannelClosed extends Error {
  constructor() {
    super('The other process has gone.');
    this.name = 'ChannelClosed';
  }
}

interface Message {
  readonly type: 'message';
  readonly name: string;
  readonly body: unknown;
  /** Present if a reply is expected. */
  readonly id?: number;
}

type Packet =
  | Message
  | { readonly type: 'reply'; readonly id: number; readonly body: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: unknown };

type Handler = (body: unknown) => unknown;

export function createChannel(port: ProcessPort, errors: ErrorCopier): Channel {
  const handlers = new Map<string, Handler>();
  const waiting = new Map<number, Deferred<unknown>>();
  /** Messages that arrived before their handler: a process receives some while it still opens its parts. */
  let early: Message[] = [];
  let lastId = 0;
  let closed = false;

  function send(packet: Packet): void {
    if (port.connected !== false) port.send?.(packet, undefined, undefined, () => {});
  }

  function takeWaiter(id: number): Deferred<unknown> | undefined {
    const waiter = waiting.get(id);
    waiting.delete(id);
    return waiter;
  }

  async function answer(id: number, handler: Handler, body: unknown): Promise<void> {
    try {
      send({ type: 'reply', id, body: await handler(body) });
    } catch (error) {
      send({ type: 'failure', id, error: errors.write(error) });
    }
  }

  function take(message: Message): void {
    const handler = handlers.get(message.name);
    if (!handler) early.push(message);
    else if (message.id === undefined) handler(message.body);
    else void answer(message.id, handler, message.body);
  }

  port.on('message', (message) => {
    const packet = message as Packet;
    if (packet.type === 'reply') takeWaiter(packet.id)?.resolve(packet.body);
    if (packet.type === 'failure') takeWaiter(packet.id)?.reject(errors.read(packet.error));
    if (packet.type === 'message') take(packet);
  });
  port.once('disconnect', () => {
    closed = true;
    for (const id of [...waiting.keys()]) takeWaiter(id)?.reject(new ChannelClosed());
  });

  return {
    tell: ({ name }, body) => send({ type: 'message', name, body }),
    ask<Body, Reply>({ name }: MessageKind<Body, Reply>, body: Body): Promise<Reply> {
      if (closed || port.connected === false) return Promise.reject(new ChannelClosed());
      const id = ++lastId;
      const reply = createDeferred<unknown>();
      waiting.set(id, reply);
      send({ type: 'message', name, body, id });
      return reply.promise as Promise<Reply>;
    },
    handle({ name }, handler) {
      handlers.set(name, handler as Handler);
      const mine = early.filter((message) => message.name === name);
      early = early.filter((message) => message.name !== name);
      for (const message of mine) take(message);
    },
  };
}
