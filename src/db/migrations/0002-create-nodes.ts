import { type Migration, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Dialect, Statements } from '../database.ts';

export function createNodes(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return {
    async up(query: Statements) {
      let table = query.schema
        .createTable('nodes')
        .addColumn('instance', 'text', (column) => column.primaryKey())
        .addColumn('address', 'text');
      for (const name of ['name', 'roles', 'version']) {
        table = table.addColumn(name, 'text', (column) => column.notNull());
      }
      for (const name of ['started_at', 'seen_at', 'leader', 'heard_at']) {
        table = table.addColumn(name, bigint, (column) => column.notNull());
      }
      await table.execute();
      await numberChangesAnew(query, dialect);
    },
  };
}

/** Several changes may have one number, and in PostgreSQL numbers come from no row that all would share. */
async function numberChangesAnew(query: Statements, dialect: Dialect): Promise<void> {
  await query.schema.dropIndex('tasks_by_event_id').execute();
  await query.schema.createIndex('tasks_by_event').on('tasks').columns(['event_id', 'id']).execute();
  if (dialect === 'sqlite') return;
  await sql`create sequence lease_tokens`.execute(query);
  await sql`select setval('lease_tokens', (select value + 1 from counters where name = 'lease-tokens'))`.execute(
    query,
  );
  await sql`delete from counters where name in ('task-events', 'lease-tokens')`.execute(query);
  await sql`update tasks set event_id = 0`.execute(query);
}
