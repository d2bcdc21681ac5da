import type { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { requireMediaType } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';

/** The body of one of our own requests: plain JSON, of exactly this shape. Throws `request-invalid`. */
export function readStrictJson<Schema extends z.ZodType>(
  exchange: Exchange,
  schema: Schema,
): z.output<Schema> {
  const result = schema.safeParse(readJsonBody(exchange));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') || 'the body';
  throw new TilewardenError('request-invalid', `${field}: ${issue?.message ?? 'cannot be used'}.`);
}

export function readJsonBody({ headers, body }: Pick<Exchange, 'headers' | 'body'>): unknown {
  requireMediaType(headers, ['application/json']);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new TilewardenError('request-invalid', 'The body is not JSON.');
  }
}
