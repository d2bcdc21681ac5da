import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { describeTaskStore } from '../../../test/contracts/task-store.ts';
import { openTestDatabase } from '../../../test/fixtures/databases.ts';
import { createPostgresDatabase } from '../../../test/fixtures/shared-services.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { openDatabase } from '../../db/open-database.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';

const quiet = { clock: systemClock, log: silentLogger };

describe('tasks in SQLite', () => {
  describeTaskStore(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tilewarden-task-store-'));
    whenOver(() => rm(folder, { recursive: true, force: true }));
    return openTestDatabase(folder);
  });
});

describe('tasks in PostgreSQL', () => {
  describeTaskStore(async () => openDatabase({ location: await createPostgresDatabase(), ...quiet }));
});
