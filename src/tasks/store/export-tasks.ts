import type { Database, Statements } from '../../db/database.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { type Archive, isFinal, type Task, type TaskState, UNFINISHED } from '../task.ts';
import type { TaskAuthor } from '../task-draft.ts';
import { endTask } from './finish-task.ts';
import { requestOf, type TaskRow, taskOf } from './task-rows.ts';

const MAX_EXPORTS = 20;
/** Limit for an account other than an administrator's. */
const MAX_OF_ONE = 10;

/** Tasks whose files are all in use, and files of finished ones that can be downloaded; states: docs/decisions/0290. */
export async function exportFiles({ query }: Database) {
  const exports = query.selectFrom('tasks').where('type', '=', 'export');
  const unfinished = await exports.select('id').where('state', 'in', UNFINISHED).execute();
  const named = await exports.select('file').where('export_id', 'is not', null).execute();
  return {
    tasks: new Set(unfinished.map(({ id }) => id)),
    names: new Set(named.flatMap(({ file }) => file ?? [])),
  };
}

/** The same export if it is under way, unless its tiles may have been truncated since; one that is over makes room. */
export async function exportUnderWay(
  query: Statements,
  { id: exportId, since }: Archive,
  author: TaskAuthor,
  now: number,
): Promise<Task | null> {
  const shown = await query.selectFrom('tasks').selectAll().where('export_id', 'is not', null).execute();
  const known = shown.find((row) => row.export_id === exportId);
  if (known && !isFinal(known.state as TaskState) && requestOf(known).archive?.since === since)
    return taskOf(known);
  if (known) await hideExport(query, known.id, 'replaced: tiles were truncated since it was ordered', now);
  else refuseUnlessRoom(shown, author);
  return null;
}

export async function hideExport(query: Statements, id: number, reason: string, now: number): Promise<void> {
  await endTask(query, id, 'killed', reason, now);
  await query.updateTable('tasks').set({ export_id: null }).where('id', '=', id).execute();
}

function refuseUnlessRoom(shown: readonly TaskRow[], { name, account, unlimited }: TaskAuthor): void {
  const refusal = (full: string) => new TilewardenError('too-many-exports', `${full}; delete one first.`);
  if (shown.length >= MAX_EXPORTS) throw refusal(`There are ${MAX_EXPORTS} exports already`);
  if (unlimited || shown.filter((row) => row.account === account).length < MAX_OF_ONE) return;
  throw refusal(
    `${name} has ${MAX_OF_ONE} exports already, as many as one account that is no administrator may`,
  );
}
