import type { Statements } from '../../db/database.ts';
import { nextToken } from '../../db/numbers.ts';

/** Its holder's token is void; reported work stays done. */
export async function returnPiece(
  query: Statements,
  taskId: number,
  piece: number,
  token: number,
): Promise<void> {
  if (isRetry(piece)) {
    await query.updateTable('task_failures').set({ token: null }).where('token', '=', token).execute();
    await query.deleteFrom('task_leases').where('token', '=', token).execute();
    return;
  }
  await query
    .updateTable('task_leases')
    .set({ owner: null, threads: 0, token: await nextToken(query) })
    .where('task_id', '=', taskId)
    .where('piece', '=', piece)
    .execute();
}

/** Leases over failed steps have no place among the pieces; their number is made from the token. */
export function isRetry(piece: number): boolean {
  return piece < 0;
}
