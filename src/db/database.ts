import type { ExpressionBuilder, Kysely, Migration, Updateable } from 'kysely';
import type { Env } from '../lib/env.ts';
import { UnavailableError } from '../lib/error-code.ts';
import type { ProcessFeed } from './process-feed.ts';
import type { Schema } from './schema.ts';

/** Statements over all tables, the same in both dialects. */
export type Statements = Kysely<Schema>;

export type { Updateable };

export type Conditions<Table extends keyof Schema> = ExpressionBuilder<Schema, Table>;

export type Dialect = 'sqlite' | 'postgres';

/**
 * One relational database. Whole numbers come back as `number` where a double holds them exactly and as
 * `bigint` beyond, in both dialects.
 */
export interface Database {
  readonly dialect: Dialect;
  /** Whether other nodes, or processes that answer requests too, use it. */
  readonly shared: boolean;
  /** For reading only. Never waits for a writer in SQLite. */
  readonly query: Statements;
  /** For single statements that change something, each of them a transaction of its own. */
  readonly change: Statements;
  /**
   * Durable when it resolves (but see `DatabaseOptions.synced`), undone when `work` throws. Transactions of all
   * processes under the same `lock` run one after another, and become visible in that order; SQLite has one lock for
   * all. Null: `work` locks the rows that it needs.
   */
  transaction<Result>(lock: string | null, work: (query: Statements) => Promise<Result>): Promise<Result>;
  /** Milliseconds since 1970 by the clock that all users of the database share: PostgreSQL's, or this machine's. */
  now(): Promise<number>;
  /** Calls every listener of this channel: in SQLite in the processes with the same `feed`. Never rejects; see `listen`. */
  notify(channel: string): Promise<void>;
  /** A notification may be lost with a connection: listeners also poll from time to time. */
  listen(channel: string, listener: () => void): () => void;
  close(): Promise<void>;
}

export interface DatabaseOptions extends Env {
  /** A `postgres://` address, or the path of an SQLite file. */
  readonly location: string;
  /**
   * False for a process whose changes can be repeated, such as a worker's reports: in SQLite they do not wait for the
   * disk. They survive the end of the process and of the server; a power cut only after a commit of another process.
   */
  readonly synced?: boolean;
  /** With SQLite: carries notifications to the other processes of the server. */
  readonly feed?: Pick<ProcessFeed, 'on' | 'post'> | null;
  /** With SQLite: whether other processes answer requests too. */
  readonly shared?: boolean;
  /**
   * By name, applied in the order of their names; by default those of this version. Null: none, and the tables are used
   * as they are, as in a process of a node that was running when a later version changed them.
   */
  readonly migrations?: Readonly<Record<string, Migration>> | null;
}

export class DatabaseError extends UnavailableError {
  readonly code: 'database-ahead' | 'database-behind' | 'database-busy' | 'database-unreachable';

  constructor(code: DatabaseError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseError';
    this.code = code;
  }
}

/**
 * Work of the leading node: `work` runs whenever this node leads, with a signal that aborts when it ceases to lead. A
 * stopped node notices that late, so repeated work must do no harm.
 */
export type Lead = (work: (signal: AbortSignal) => Promise<void>) => { close(): Promise<void> };

export const leadAlone: Lead = (work) => {
  const ending = new AbortController();
  const running = work(ending.signal);
  return {
    async close() {
      ending.abort();
      await running;
    },
  };
};
