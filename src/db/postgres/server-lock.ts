import pg from 'pg';
import type { DatabaseOptions } from '../database.ts';

/** Milliseconds. A server that was killed may still be taken for alive for a moment. */
const PATIENCE = 5000;
const PAUSE = 250;
/** Seconds after which PostgreSQL asks whether the holder is still there, and between its questions. */
const KEEPALIVE =
  'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3';
const TRY = "select pg_try_advisory_lock(hashtext('tilewarden:local-stores')) as held";

/**
 * Held by a connection of its own for as long as the server runs, and released by PostgreSQL however the server ends.
 * When the connection breaks it is taken again; what happens if another server was faster, the log says.
 */
export async function openServerLock(options: DatabaseOptions): Promise<{ close(): Promise<void> } | null> {
  const stop = new AbortController();
  let client = await takeInTime(options);
  if (!client) return null;

  async function keep(): Promise<void> {
    while (!stop.signal.aborted) {
      if (client) await ended(client, stop.signal);
      if (stop.signal.aborted) return;
      client = await take(options).catch(() => null);
      if (!client) options.log.error({}, 'The lock that keeps other servers from this database is lost.');
      await options.clock.sleep(PAUSE, stop.signal).catch(() => {});
    }
  }

  const keeping = keep();
  return {
    async close() {
      stop.abort();
      await keeping;
      await client?.end().catch(() => {});
    },
  };
}

async function takeInTime(options: DatabaseOptions): Promise<pg.Client | null> {
  const deadline = options.clock.monotonic() + PATIENCE;
  for (;;) {
    const client = await take(options);
    if (client || options.clock.monotonic() > deadline) return client;
    await options.clock.sleep(PAUSE);
  }
}

/** Null: somebody else holds it. */
async function take({ location }: DatabaseOptions): Promise<pg.Client | null> {
  const client = new pg.Client({ connectionString: location, keepAlive: true });
  // Without a listener a connection that breaks would end the process.
  client.on('error', () => {});
  await client.connect();
  await client.query(KEEPALIVE);
  const { rows } = await client.query<{ held: boolean }>(TRY);
  if (rows[0]?.held) return client;
  await client.end();
  return null;
}

function ended(client: pg.Client, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    client.once('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
