/**
 * One stream of task changes for all tabs of a browser: it allows a host six connections, and each tab would hold one.
 * A page says where the stream is; saying it again opens a stream that was refused.
 */
import type { FeedMessage } from './task-feed.ts';

/** Milliseconds before a refused stream is opened again; doubled each time. */
const FIRST_WAIT = 2000;
const MAX_WAIT = 30_000;

const ports = new Set<MessagePort>();
let source: EventSource | null = null;
/** A stream continues after this event. */
let lastId = '';
let wait = FIRST_WAIT;
let timer = 0;

function broadcast(message: FeedMessage): void {
  for (const port of ports) port.postMessage(message);
}

function open(address: string): void {
  close();
  const stream = new EventSource(lastId === '' ? address : `${address}?lastEventId=${lastId}`);
  source = stream;
  stream.onopen = () => {
    wait = FIRST_WAIT;
    broadcast({ live: true });
  };
  stream.addEventListener('task', ({ data, lastEventId }) => {
    lastId = lastEventId;
    broadcast({ task: JSON.parse(String(data)) });
  });
  stream.onerror = () => {
    broadcast({ live: false });
    // The browser tries again by itself unless it was refused.
    if (stream.readyState !== EventSource.CLOSED) return;
    timer = self.setTimeout(() => open(address), wait);
    wait = Math.min(MAX_WAIT, 2 * wait);
  };
}

function close(): void {
  clearTimeout(timer);
  source?.close();
  source = null;
}

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (!port) return;
  ports.add(port);
  port.onmessage = ({ data }: MessageEvent<string | null>) => {
    if (data === null) ports.delete(port);
    if (ports.size === 0) close();
    if (data === null) return;
    ports.add(port);
    if (source?.readyState === EventSource.OPEN) port.postMessage({ live: true } satisfies FeedMessage);
    if (source === null || source.readyState === EventSource.CLOSED) open(data);
  };
});
