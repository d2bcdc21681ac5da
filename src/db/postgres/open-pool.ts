import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { DatabaseError, type DatabaseOptions } from '../database.ts';
import { exactNumber } from '../numbers.ts';

/** Milliseconds. */
const CONNECT_TIMEOUT = 5000;
const STATEMENT_TIMEOUT = 30_000;
export const LOCK_TIMEOUT = 15_000;
/** A process that hangs inside a transaction loses it, and with it its locks, before its leases run out. */
const IDLE_TIMEOUT = 5000;
/** A server that says nothing for longer than any statement may take is away. */
const SILENCE = STATEMENT_TIMEOUT + 5000;
const INT8 = pg.types.builtins.INT8;
/** Classes and codes of PostgreSQL's errors, and Node's, that tell of a connection and not of a statement. */
const AWAY = /^(08...|57P0[1-5]|53300|25P03|E[A-Z]{3,})$/;
const AWAY_WORDS =
  /^(Connection terminated|timeout e|Query read timeout|Client has encountered a connection)/;

/** Connections whose failures to reach the server are `database-unreachable`; one that has failed so is not used again. */
export function openPool({ location, log }: DatabaseOptions, max: number): PostgresPool {
  const pool = new pg.Pool({
    connectionString: location,
    max,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    query_timeout: SILENCE,
    statement_timeout: STATEMENT_TIMEOUT,
    lock_timeout: LOCK_TIMEOUT,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT,
    types: { getTypeParser: parserOf },
  });
  // Without a listener a connection that breaks while idle would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'));
  return {
    connect: async () => watched(await pool.connect().catch(refuseAway)),
    end: () => pool.end(),
  };
}

function watched(client: pg.PoolClient): PostgresPoolClient {
  let broken = false;
  // In the hands of somebody it has no listener of the pool's.
  const onError = () => {
    broken = true;
  };
  client.on('error', onError);
  const ask = async (...statement: readonly unknown[]) => {
    try {
      return await Reflect.apply(client.query, client, statement);
    } catch (error) {
      broken ||= isAway(error);
      return refuseAway(error);
    }
  };
  return {
    query: ask as PostgresPoolClient['query'],
    release() {
      client.off('error', onError);
      client.release(broken);
    },
  };
}

function refuseAway(error: unknown): never {
  if (!isAway(error)) throw error;
  throw new DatabaseError('database-unreachable', 'The database cannot be reached now; try again later.', {
    cause: error,
  });
}

function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && AWAY.test(String(error.code))) || AWAY_WORDS.test(error.message);
}

/** Typed after node-postgres, whose own signature has an overload for each of its formats. */
const parserOf: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? (text: string) => exactNumber(BigInt(text)) : pg.types.getTypeParser(oid, format as 'text');
