import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** Keys for readers, with what was drawn of their limits. */
export function createReaderKeys(dialect: Dialect): Migration {
  const { risingId, bigint } = columnsOf(dialect);
  return statements(
    `create table reader_keys (
       id ${risingId},
       name text not null,
       hash text not null,
       layers text not null,
       origins text,
       rate_per_second ${bigint},
       requests_per_day ${bigint},
       expires_at ${bigint},
       created_by text not null,
       created_at ${bigint} not null,
       last_used_at ${bigint},
       rate_at ${bigint} not null,
       used_day ${bigint} not null,
       used ${bigint} not null
     )`,
    'create unique index reader_keys_by_hash on reader_keys (hash)',
  );
}
