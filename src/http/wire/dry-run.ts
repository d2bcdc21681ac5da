import { TilewardenError } from '../../domain/errors.ts';
import { mediaTypeOf } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';
import { booleanField, readTaskObject } from './task-request.ts';

/** Whether a JSON body says `dryRun`. What cannot be read is not one. */
export function isDryRun({ headers, body }: Pick<Exchange, 'headers' | 'body'>): boolean {
  if (mediaTypeOf(headers) === 'text/plain') return false;
  try {
    return booleanField(readTaskObject(body), 'dryRun') === true;
  } catch (error) {
    if (error instanceof TilewardenError) return false;
    throw error;
  }
}
