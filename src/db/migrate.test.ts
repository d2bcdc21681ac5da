import type { Kysely } from 'kysely';
import { expect, it } from 'vitest';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { migrationsFor } from './migrate.ts';
import { openDatabase } from './open-database.ts';

const ROUNDS = 4;
const NODES = 8;
const quiet = { clock: systemClock, log: silentLogger };

it('nodes that start together on a PostgreSQL of the previous version all start', async () => {
  const before = migrationsFor('postgres');
  const drop = (query: Kysely<unknown>) => query.schema.dropTable('host_pauses').execute();
  const migrations = { ...before, '9999-later': { up: drop } };
  for (let round = 0; round < ROUNDS; round++) {
    const location = await createPostgresDatabase();
    await (await openDatabase({ location, ...quiet, migrations: before })).close();
    const nodes = await Promise.all(
      Array.from({ length: NODES }, () => openDatabase({ location, ...quiet, migrations })),
    );
    for (const node of nodes) await node.close();
    expect(nodes).toHaveLength(NODES);
  }
});
