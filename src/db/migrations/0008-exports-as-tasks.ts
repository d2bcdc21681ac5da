import { type Migration, sql } from 'kysely';
import type { Dialect, Statements } from '../database.ts';
import { statements } from './statements.ts';

/** As 0.2 wrote them. */
interface OldExport {
  readonly id: string;
  readonly store: string;
  readonly document: string;
  readonly progress: string;
  readonly token: number | null;
}

const prepare = statements(() => [
  'alter table tasks add column export_id text',
  'alter table tasks add column file text',
  'create unique index tasks_by_export_id on tasks (export_id)',
]);

/** Finished exports keep their files. One that was under way is aborted, with a reason. */
export function turnExportsIntoTasks(dialect: Dialect): Migration {
  return {
    async up(query: Statements) {
      await prepare(dialect).up(query);
      const old = await sql<OldExport>`select * from exports order by run`.execute(query);
      for (const row of old.rows) await query.insertInto('tasks').values(taskFrom(row)).execute();
      await sql.raw('drop table exports').execute(query);
    },
  };
}

function taskFrom({ id, store, document, progress, token }: OldExport) {
  const { type, parameters, bounds, area, areaCrs, createdBy, createdAt, ...place } = JSON.parse(document);
  const { state, tiles, bytes, reason, endedAt } = JSON.parse(progress);
  const [minX, minY, maxX, maxY] = bounds;
  const isDone = state === 'done';
  const created = Date.parse(createdAt);
  const request = {
    ...place,
    type: 'export',
    parameters,
    parametersId: null,
    bounds: { minX, minY, maxX, maxY },
    area: null,
    onlyStale: false,
    threadCount: 1,
    tileFailureRetryCount: 0,
    tileFailureRetryWaitTime: 1000,
    totalFailuresBeforeAborting: 1000,
    waitsForHosts: false,
    priority: 0,
    archive: { id, type, parameters, area, areaCrs, store, since: '' },
  };
  return {
    state: isDone ? 'done' : 'aborted',
    outcome: isDone ? 'ok' : 'failed',
    reason: isDone || state === 'failed' ? reason : 'Interrupted by an update of the server; start it again.',
    layer: place.layer,
    type: 'export',
    request: JSON.stringify(request),
    plan: JSON.stringify({ levels: [], stepColumns: 1, stepRows: 1, geometry: null }),
    export_id: id,
    file: isDone ? `${token}.${type}` : null,
    created_by: createdBy,
    account: createdBy.startsWith('token:') ? createdBy : `user:${createdBy}`,
    created_at: created,
    started_at: created,
    ended_at: endedAt === null ? created : Date.parse(endedAt),
    tiles_total: tiles,
    tiles_processed: tiles,
    bytes: bytes ?? 0,
    ...UNUSED,
  };
}

const UNUSED = {
  event_id: 0,
  thread_count: 1,
  weight: 1,
  express: 0,
  fair_time: 0,
  piece_count: 0,
  next_piece: 0,
  made: 0,
  present: 0,
  removed: 0,
  blank: 0,
  failed: 0,
  upstream_requests: 0,
  failures: 0,
  error_samples: '[]',
};
