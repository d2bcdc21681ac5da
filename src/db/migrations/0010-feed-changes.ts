import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** Feeds of data changes, their latest changes, and the entries of feeds that are read again and again. */
export function feedChanges(dialect: Dialect): Migration {
  const { bigint, risingId } = columnsOf(dialect);
  return statements(
    `create table change_feeds (
       name text primary key,
       state text not null,
       last_at ${bigint},
       last_error text,
       received ${bigint} not null,
       applied ${bigint} not null,
       pending ${bigint} not null,
       newest ${bigint}
     )`,
    `create table changes (
       id ${risingId},
       feed text not null,
       at ${bigint} not null,
       event_id text,
       merged ${bigint} not null,
       layers text not null,
       boxes text
     )`,
    'create unique index changes_by_event on changes (feed, event_id)',
    'create index changes_by_time on changes (at)',
    `create table change_entries (
       feed text not null,
       id text not null,
       at ${bigint} not null,
       seen_at ${bigint} not null,
       primary key (feed, id)
     )`,
  );
}
