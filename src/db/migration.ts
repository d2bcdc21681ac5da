import type { Columns } from './columns.ts';
import type { Statements } from './database.ts';

/** A step from one shape of the tables to the next. Once released it is never changed. */
export interface Migration {
  /** Counts up from 1 without gaps. */
  readonly number: number;
  readonly name: string;
  up(query: Statements, columns: Columns): Promise<void>;
}
