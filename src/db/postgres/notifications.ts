import pg from 'pg';
import type { Surroundings } from '../../lib/surroundings.ts';

interface NotificationOptions extends Surroundings {
  readonly location: string;
  readonly heard: (channel: string) => void;
}

/** Milliseconds between attempts to listen again after the connection was lost. */
const RECONNECT_WAIT = 1000;

/** Keeps one connection that listens, and opens it again when it breaks. */
export function openNotifications(options: NotificationOptions): { close(): Promise<void> } {
  const stop = new AbortController();
  const running = keepListening(options, stop.signal);
  return {
    async close() {
      stop.abort();
      await running;
    },
  };
}

async function keepListening(options: NotificationOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await listenOnce(options, signal).catch((error: unknown) => {
      if (!signal.aborted) options.log.warn({ err: error }, 'listening to the database failed; trying again');
    });
    await options.clock.sleep(RECONNECT_WAIT, signal).catch(() => {});
  }
}

async function listenOnce({ location, heard }: NotificationOptions, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({ connectionString: location, keepAlive: true });
  const ended = new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  ended.catch(() => {});
  client.on('notification', ({ payload }) => heard(payload ?? ''));
  try {
    await Promise.race([client.connect().then(() => client.query('listen tilewarden')), ended]);
    await ended;
  } finally {
    await client.end().catch(() => {});
  }
}
