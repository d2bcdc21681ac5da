import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeTaskStore } from '../../../test/contracts/task-store.ts';
import { createPostgresDatabase } from '../../../test/fixtures/shared-services.ts';
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
  describeTaskStore(async () => openDatabase({ location: await createPostgresDatabase(), ...quiet }));
});
