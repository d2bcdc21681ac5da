import { isTilewardenError, TilewardenError } from '../domain/errors.ts';

const HIDDEN = '***';

/** A server may repeat in its error page what it was asked. The same failure with none of these words in its cause. */
export function withoutWords(error: unknown, words: readonly string[]): unknown {
  if (!isTilewardenError(error) || !(error.cause instanceof Error)) return error;
  const hidden = words.flatMap((word) => [word, encodeURIComponent(word)]);
  const told = error.cause.message;
  if (!hidden.some((word) => told.includes(word))) return error;
  const cause = new Error(hidden.reduce((text, word) => text.replaceAll(word, HIDDEN), told));
  const { code, message, reason, retryAfterSeconds } = error;
  return new TilewardenError(code, message, {
    cause,
    ...(reason !== null && { reason }),
    ...(retryAfterSeconds !== null && { retryAfterSeconds }),
  });
}
