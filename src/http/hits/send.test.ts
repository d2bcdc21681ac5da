import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createOutbox } from './send.ts';

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function listen(answer: (response: ServerResponse) => void): Promise<string> {
  const opened = createServer((_request, response) => answer(response));
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(opened.address() as AddressInfo).port}/`;
}

it('an outbox sends its answers when the turn is over', async () => {
  const outbox = createOutbox();
  const ended: boolean[] = [];
  const url = await listen((response) => {
    outbox.add({ writeOut: () => response.end('tile') });
    ended.push(response.writableEnded);
  });
  expect(await (await fetch(url)).text()).toBe('tile');
  expect(ended).toEqual([false]);
});

it('an outbox answers every one of many callers', async () => {
  const outbox = createOutbox();
  let answered = 0;
  const url = await listen((response) => outbox.add({ writeOut: () => response.end(`${++answered}`) }));
  const texts = await Promise.all(Array.from({ length: 100 }, async () => (await fetch(url)).text()));
  expect(new Set(texts).size).toBe(100);
});
