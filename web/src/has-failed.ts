import type { ApiAnswer } from '../../src/http/api/openapi-book.ts';

type Task = ApiAnswer<'GET /api/v1/tasks/{id}'>;
type Ending = Pick<Task, 'state' | 'reason' | 'endedAt'> & {
  readonly counters: Pick<Task['counters'], 'failed'>;
};

/** It ended, and not well: tiles failed, or its host stayed away. What somebody stopped has not failed by that. */
export function hasFailed({ state, reason, endedAt, counters }: Ending): boolean {
  if (endedAt === null) return false;
  return counters.failed > 0 || (state === 'aborted' && !/^stopped by /.test(reason ?? ''));
}
