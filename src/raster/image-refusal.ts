import { TilewardenError } from '../domain/errors.ts';

/** Why an answer that came as an image may not enter the cache; for counting. */
export type RefusalReason =
  | 'empty'
  | 'service-exception'
  | 'html'
  | 'not-an-image'
  | 'wrong-type'
  | 'wrong-size'
  | 'truncated'
  | 'animated'
  | 'oversized'
  | 'blank';

const MESSAGES: Readonly<Record<RefusalReason, string>> = {
  empty: 'The map source sent an empty answer.',
  'service-exception': 'The map source reported an error instead of sending an image.',
  html: 'The map source sent a web page instead of an image.',
  'not-an-image': 'The map source sent something that is not an image.',
  'wrong-type': 'The map source sent an image of another type than it said.',
  'wrong-size': 'The map source sent an image of another size than was asked for.',
  truncated: 'The map source sent a damaged or incomplete image.',
  animated: 'The map source sent an animated image.',
  oversized: 'The map source sent an image that is too large.',
  blank: 'The map source sent an empty picture where none is to be expected.',
};

/** `detail` is for the log: it never reaches the caller of a tile. */
export function refuseImage(reason: RefusalReason, detail?: unknown): TilewardenError {
  return new TilewardenError('source-bad-answer', MESSAGES[reason], { reason, cause: detail });
}
