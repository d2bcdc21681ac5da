import { CompiledQuery } from 'kysely';
import type { Statements } from '../../../db/database.ts';
import { isTilewardenError, TilewardenError } from '../../../domain/errors.ts';
import { orAborted } from '../../../lib/deferred.ts';
import { errorCode } from '../../../lib/error-code.ts';
import type { Script } from '../script.ts';

/** All queries of the index: an unreachable database, or one that refuses a query, is `store-failed`. */
export async function askIndex<Response>(question: () => Promise<Response>): Promise<Response> {
  try {
    return await question();
  } catch (cause) {
    if (isTilewardenError(cause)) throw cause;
    // An SQLSTATE, such as 42P01: the database has answered.
    const isRefused = cause instanceof Error && /^(?=.*\d)[0-9A-Z]{5}$/.test(errorCode(cause) ?? '');
    const what = isRefused ? `refused a query: ${cause.message}` : 'does not answer';
    throw new TilewardenError('store-failed', `The database that lists the stored tiles ${what}.`, { cause });
  }
}

/** Milliseconds. A statement may take longer, but no tile request waits for it. */
const READER_TIMEOUT_MS = 5000;

/** The same for tile requests, and before a tile is created. */
export function askSoon<Response>(question: () => Promise<Response>): Promise<Response> {
  return askIndex(() => orAborted(question(), AbortSignal.timeout(READER_TIMEOUT_MS)));
}

/** Held shared by changes of a layer's packs, exclusively by drops and raised marks. */
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
