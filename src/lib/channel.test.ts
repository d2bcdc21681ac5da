import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { errorCopier } from '../domain/error-copier.ts';
import { TilewardenError } from '../domain/errors.ts';
import { type Channel, ChannelClosed, createChannel, messageKind, type ProcessPort } from './channel.ts';

interface ChannelPair {
  readonly server: Channel;
  readonly child: Channel;
  /** As if one of the processes died. */
  cut(): void;
}

/** A channel within one process; messages are copied and come later, as between two. */
function createChannelPair(): ChannelPair {
  const here = new EventEmitter();
  const there = new EventEmitter();
  let connected = true;
  const port = (own: EventEmitter, other: EventEmitter) =>
    Object.assign(own, {
      send(message: unknown) {
        const copy = structuredClone(message);
        setImmediate(() => connected && other.emit('message', copy));
        return true;
      },
    }) as unknown as ProcessPort;
  return {
    server: createChannel(port(here, there), errorCopier),
    child: createChannel(port(there, here), errorCopier),
    cut() {
      connected = false;
      here.emit('disconnect');
      there.emit('disconnect');
    },
  };
}

const DOUBLE = messageKind<number, number>('double');
const NOTE = messageKind<string>('note');

describe('a channel between two processes', () => {
  it('a channel answers the requests of either side', async () => {
    const { server, child } = createChannelPair();
    server.handle(DOUBLE, (number) => number * 2);
    child.handle(DOUBLE, async (number) => number * 3);
    expect(await child.ask(DOUBLE, 4)).toBe(8);
    expect(await Promise.all([1, 2, 3].map((number) => server.ask(DOUBLE, number)))).toEqual([3, 6, 9]);
  });

  it('a channel keeps the order of messages and requests', async () => {
    const { server, child } = createChannelPair();
    const received: string[] = [];
    child.handle(NOTE, (text) => void received.push(text));
    child.handle(DOUBLE, () => received.length);
    for (const text of ['a', 'b', 'c']) server.tell(NOTE, text);
    expect(await server.ask(DOUBLE, 0)).toBe(3);
  });

  it('a channel carries a failure with its code and retry time', async () => {
    const { server, child } = createChannelPair();
    server.handle(DOUBLE, () => {
      throw new TilewardenError('source-busy', 'Come back later.', { retryAfterSeconds: 7 });
    });
    await expect(child.ask(DOUBLE, 1)).rejects.toMatchObject({
      code: 'source-busy',
      message: 'Come back later.',
      retryAfterSeconds: 7,
    });
  });

  it('a channel fails waiting and later requests when the other process dies', async () => {
    const { server, child, cut } = createChannelPair();
    child.handle(DOUBLE, () => new Promise(() => {}));
    const asked = server.ask(DOUBLE, 1);
    cut();
    await expect(asked).rejects.toThrow(ChannelClosed);
    await expect(server.ask(DOUBLE, 1)).rejects.toThrow(ChannelClosed);
  });

  it('a channel keeps messages that arrive before their handler', async () => {
    const { server, child } = createChannelPair();
    const received: string[] = [];
    server.tell(NOTE, 'early');
    const asked = server.ask(DOUBLE, 4);
    await new Promise((resolve) => setImmediate(resolve));
    child.handle(NOTE, (text) => void received.push(text));
    child.handle(DOUBLE, (number) => number * received.length);
    expect(await asked).toBe(4);
    expect(received).toEqual(['early']);
  });
});
