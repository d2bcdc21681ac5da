import pg from 'pg';
import { UnavailableError } from '../../lib/error-code.ts';
import { plainReason } from '../../lib/plain-reason.ts';

/** Milliseconds. A database that takes longer counts as unreachable. */
const TIMEOUT_MS = 5000;
/** Seconds until the first keepalive probe of PostgreSQL, and between probes. */
const KEEPALIVE =
  'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3';

export interface SessionClient {
  readonly client: pg.Client;
  /** Aborts when the connection breaks or ends. */
  readonly lost: AbortSignal;
}

/** A connection of its own, for state that PostgreSQL keeps as long as a session lasts. */
export async function connectSession(location: string): Promise<SessionClient> {
  const client = new pg.Client({
    connectionString: location,
    keepAlive: true,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  const loss = new AbortController();
  client.on('error', (error) => loss.abort(error));
  client.on('end', () => loss.abort(new Error('The connection to the database has ended.')));
  const session = { client, lost: loss.signal };
  const ready = client.connect().then(() => client.query(KEEPALIVE));
  await ready.catch(async (cause: unknown) => {
    await endSession(session);
    if (cause instanceof pg.DatabaseError) throw cause;
    throw new UnavailableError(`The database cannot be reached: ${plainReason(cause)}.`, { cause });
  });
  return session;
}

/** The rows of a declared query, as lists of values: in a transaction that must not change data. */
export async function queryReadOnly(location: string, text: string): Promise<readonly unknown[][]> {
  const session = await connectSession(location);
  try {
    await session.client.query('begin read only');
    return (await session.client.query<unknown[]>({ text, rowMode: 'array' })).rows;
  } finally {
    await endSession(session);
  }
}

/** Ends the session without waiting long for a server that does not respond. */
export async function endSession({ client }: SessionClient): Promise<void> {
  await Promise.race([
    client.end().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, 1000).unref()),
  ]);
}
