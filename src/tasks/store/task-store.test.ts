import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeTaskStore } from '../../../test/contracts/task-store.ts';
import { openTestPostgres, type TestPostgres } from '../../../test/fixtures/postgres.ts';
import { openDatabase } from '../../db/open-database.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';

const quiet = { clock: systemClock, log: silentLogger };

describe('tasks in SQLite', () => {
  let folder = '';
  let files = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tilewarden-task-store-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describeTaskStore(() => openDatabase({ location: join(folder, `${++files}.db`), ...quiet }));
});

describe('tasks in PostgreSQL', () => {
  let postgres: TestPostgres;

  beforeAll(async () => {
    postgres = await openTestPostgres();
  });
  afterAll(() => postgres.close());

  describeTaskStore(async () => openDatabase({ location: await postgres.createDatabase(), ...quiet }));
});
