import { CompiledQuery } from 'kysely';
import type { Statements } from '../../../db/database.ts';
import { isTilewardenError, TilewardenError } from '../../../domain/errors.ts';
import { orAborted } from '../../../lib/deferred.ts';
import { errorCode } from '../../../lib/error-code.ts';
import type { Script } from '../script.ts';

/** Runs a query of the index. Throws `store-failed` if the database is unreachable or refuses the query. */
export async function askIndex<Response>(question: () => Promise<Response>): Promise<Response> {
  try {
    return await question();
  } catch (cause) {
    if (isTilewardenError(cause)) throw cause;
    // An SQLSTATE, such as 42P01, means that the database has responded.
    const isRefused = cause instanceof Error && /^(?=.*\d)[0-9A-Z]{5}$/.test(errorCode(cause) ?? '');
    const what = isRefused ? `refused a query: ${cause.message}` : 'does not answer';
    throw new TilewardenError('store-failed', `The database that lists the stored tiles ${what}.`, { cause });
  }
}

/** Milliseconds that a tile request waits for a statement, which may take longer. */
const READER_TIMEOUT_MS = 5000;

/** As `askIndex`, with a time limit: for tile requests and tickets. */
export function askSoon<Response>(question: () => Promise<Response>): Promise<Response> {
  return askIndex(() => orAborted(question(), AbortSignal.timeout(READER_TIMEOUT_MS)));
}

/** An advisory lock, held shared by changes of a layer's packs, exclusively by drops and raises. */
export function layerLock(store: string, layer: string): string {
  return `tiles:${store}:${JSON.stringify(layer)}`;
}

export async function runScript<Row, Result>(
  query: Statements,
  script: Script<Row, Result>,
): Promise<Result> {
  for (let step = script.next(); ; ) {
    if (step.done) return step.value;
    let values = 0;
    const text = step.value.text.replace(/\?/g, () => `$${++values}`);
    const { rows } = await query.executeQuery<Row>(CompiledQuery.raw(text, [...step.value.values]));
    step = script.next(rows);
  }
}
