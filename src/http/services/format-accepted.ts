import type { Format } from '../../domain/format.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import { chooseMediaType } from './accept.ts';

/** What the caller's `Accept` likes best of these; the first without one. Answers then vary by that header. */
export function formatAccepted(exchange: Exchange, offered: readonly Format[]): Format {
  const types = [...new Set(offered.map(({ contentType }) => contentType))];
  const chosen = chooseMediaType(exchange.headers.accept, types);
  const found = offered.find(({ contentType }) => contentType === chosen);
  if (found) return found;
  throw new HttpProblem('not-acceptable', `There is ${types.join(', ')}; Accept allows none of it.`, [
    'Vary',
    'Accept',
  ]);
}
