import type { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { requireMediaType } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';

/** The body of one of our own requests: plain JSON, of exactly this shape. Throws `request-invalid`. */
export function readStrictJson<Schema extends z.ZodType>(
  exchange: Exchange,
  schema: Schema,
): z.output<Schema> {
  requireMediaType(exchange.headers, ['application/json']);
  const result = schema.safeParse(parse(exchange.body));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') || 'the body';
  throw new TilewardenError('request-invalid', `${field}: ${issue?.message ?? 'cannot be used'}.`);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new TilewardenError('request-invalid', 'The body is not JSON.');
  }
}
