/** Parses bodies and queries of requests with their schemas. */
import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import { explainIssues, printExplanations } from '../../lib/explain-issue.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { isRecord } from '../../lib/value-path.ts';
import { requireMediaType } from '../auth/request-checks.ts';
import type { Context } from '../context.ts';

const WORDS = { key: 'a field', object: 'an object', nothing: 'null' };

export const NO_QUERY = z.strictObject({});

/** Parses a JSON body. Refuses query parameters: `?dryRun=true` would be ignored. Throws `request-invalid`. */
export function readBody<Schema extends z.ZodType>(context: Context, schema: Schema): z.output<Schema> {
  readQuery(context, NO_QUERY);
  return checkBody(readJson(context), schema);
}

/** Repeated values of a `repeatable` field are joined by commas. Throws `request-invalid`. */
export function readQuery<Schema extends z.ZodObject>(
  { query }: Context,
  schema: Schema,
  repeatable: readonly string[] = [],
): z.output<Schema> {
  if (query === '' && Object.keys(schema.shape).length === 0) return {} as z.output<Schema>;
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) getOrCreate(fields, name, () => []).push(value);
  const names = Object.keys(schema.shape).filter((name) => !repeatable.includes(name));
  const twice = names.find((name) => (fields.get(name)?.length ?? 0) > 1);
  if (twice !== undefined) throw invalid(`${twice} is given twice.`);
  const values = Array.from(fields, ([name, texts]) => [name, texts.join(',')]);
  return checkBody(Object.fromEntries(values), schema, 'The query');
}

export function readJson(
  { headers, body }: Pick<Context, 'headers' | 'body'>,
  types: readonly string[] = ['application/json'],
): unknown {
  requireMediaType(headers, types);
  return parseJson(body);
}

/** Throws `request-invalid` with all problems, field by field. */
export function checkBody<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  whole = 'The body',
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const jsonSchema = () => z.toJSONSchema(schema, { io: 'input' });
  const problems = explainIssues(result.error.issues, value, jsonSchema, WORDS);
  throw invalid(printExplanations(problems, whole));
}

/** Whether a JSON body has `dryRun: true`; false if it cannot be parsed. */
export function isDryRun({ body }: Pick<Context, 'body'>): boolean {
  try {
    const value = parseJson(body);
    return isRecord(value) && value.dryRun === true;
  } catch {
    return false;
  }
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw invalid('The body is empty; it must be JSON.');
  try {
    return parseShallow(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? cause.message : 'it is not valid UTF-8';
    throw invalid(`The body is not JSON: ${why}.`);
  }
}

/** No valid document is as deep; a deeper one could exhaust the stack of functions that walk it. */
const MAX_DEPTH = 100;

/** `JSON.parse`, limited to `MAX_DEPTH` nested objects and lists. Throws `SyntaxError`. */
export function parseShallow(text: string): unknown {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) at += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
    if (depth > MAX_DEPTH)
      throw new SyntaxError(`it has more than ${MAX_DEPTH} objects and lists within each other`);
  }
  return JSON.parse(text);
}
