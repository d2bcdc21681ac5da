import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { openDatabase } from '../../db/open-database.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { TaskFilter } from '../task-filter.ts';
import { countedTasks } from './task-rows.ts';

const FILTERS: readonly TaskFilter[] = [
  {},
  { states: ['done'] },
  { outcomes: ['failed', 'partial'], since: 0 },
  { layers: ['roads', 'rivers'], types: ['seed'] },
  { types: ['seed'], upTo: 5, until: 9 },
  { states: ['done', 'aborted'], layers: ['roads'] },
];

/** SQLite's word for the plan as opposed to its instructions. */
const QUERY_PLAN = sql`query plan`;

it('counting tasks in SQLite reads one index and no rows, whatever the filter', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tilewarden-task-filter-'));
  whenOver(() => rm(folder, { recursive: true, force: true }));
  const location = join(folder, 'tasks.db');
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  whenOver(() => database.close());
  for (const filter of FILTERS) {
    const plan = await countedTasks(database.query, filter).explain(undefined, QUERY_PLAN);
    const steps = plan.map(({ detail }) => String(detail)).filter((detail) => !detail.includes('GROUP BY'));
    expect({ filter, steps }).toEqual({
      filter,
      steps: [expect.stringMatching(/USING COVERING INDEX tasks_by_filter/)],
    });
  }
});
