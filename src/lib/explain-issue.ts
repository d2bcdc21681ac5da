import type { z } from 'zod';
import { closestName } from './closest-name.ts';
import { isRecord, printPath, type ValuePath, valueAt } from './value-path.ts';

type Issue = z.core.$ZodIssue;

export interface Explanation {
  readonly path: ValuePath;
  /** The key that is at fault, when it is a key and not a value. */
  readonly key?: string;
  /** Continues a sentence that begins with the path, e.g. `must be a whole number`. */
  readonly message: string;
}

interface IssueWords {
  /** E.g. `a setting`. */
  readonly key: string;
  /** E.g. `a map`. */
  readonly object: string;
  /** The word for null. */
  readonly nothing: string;
}

interface Context {
  readonly tree: unknown;
  readonly words: IssueWords;
  readonly keysAt: (path: ValuePath) => readonly string[];
}

/** A sentence for each problem; `whole` is the subject where the path is empty. */
export function printExplanations(problems: readonly Explanation[], whole: string): string {
  return problems
    .map(({ path, key, message }) => {
      const place = printPath(key === undefined ? path : [...path, key]);
      return `${place || whole} ${message}`.replace(/[^.?]$/, '$&.');
    })
    .join(' ');
}

/** As many as fit on one line. */
const MAX_EXPLAINED = 5;

/** The first problems of `tree`, in words for its author. The schema is built only when a key is unknown. */
export function explainIssues(
  issues: readonly Issue[],
  tree: unknown,
  schema: () => z.core.JSONSchema.JSONSchema,
  words: IssueWords,
  max = MAX_EXPLAINED,
): readonly Explanation[] {
  let built: ReturnType<typeof schema> | null = null;
  const keysAt = (path: ValuePath) => {
    built ??= schema();
    return allowedKeys(built, tree, path);
  };
  const explanations: Explanation[] = [];
  for (const explanation of explainAll(issues, { tree, words, keysAt }, [])) {
    explanations.push(explanation);
    if (explanations.length === max) break;
  }
  return explanations;
}

function* explainAll(issues: readonly Issue[], context: Context, base: ValuePath): Generator<Explanation> {
  for (const issue of issues) {
    const path = [...base, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))];
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield explainKey(key, context, path);
    } else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      yield* explainUnion(issue, context, path);
    } else if (issue.code === 'invalid_key') {
      yield explainBadKey(issue, path, context.words);
    } else {
      yield { path, message: messageOf(issue, valueAt(context.tree, path), context.words) };
    }
  }
}

function explainKey(key: string, context: Context, path: ValuePath): Explanation {
  const allowed = context.keysAt(path);
  const sections = allowed.filter((name) => context.keysAt([...path, name]).includes(key));
  const written = Object(valueAt(context.tree, path)) as object;
  const section = sections.find((name) => name in written) ?? sections[0];
  const meant = section ? `${section}.${key}` : closestName(key, allowed);
  const known = allowed.length > 0 ? `known here: ${allowed.join(', ')}` : 'there are none here';
  const hint = meant ? `did you mean ${meant}?` : known;
  return { path, key, message: `is not ${context.words.key}; ${hint}` };
}

function explainBadKey(issue: Issue, path: ValuePath, words: IssueWords): Explanation {
  const key = path.at(-1);
  const name = typeof key === 'string' ? { key } : {};
  const first = 'issues' in issue && Array.isArray(issue.issues) ? issue.issues[0] : null;
  return {
    path: path.slice(0, -1),
    ...name,
    message: first ? messageOf(first, key, words) : 'is not a name',
  };
}

/** A union fails with a list of issues for each alternative: explains the first one that the value's type fits. */
function* explainUnion(
  issue: z.core.$ZodIssueInvalidUnion,
  context: Context,
  path: ValuePath,
): Generator<Explanation> {
  const ownFaults = issue.errors.filter((issues) =>
    issues.some((inner) => inner.path.length > 0 || inner.code !== 'invalid_type'),
  );
  const [best] = ownFaults;
  if (best) {
    yield* explainAll(best, context, path);
    return;
  }
  const kinds = issue.errors
    .flatMap((issues) => issues.slice(0, 1))
    .map((inner) => ('expected' in inner ? kindOf(inner.expected, context.words) : ''));
  const value = valueAt(context.tree, path);
  const kind = [...new Set(kinds)].join(' or ');
  yield { path, message: messageForKind(kind, value, context.words) };
}

function messageOf(issue: Issue, value: unknown, words: IssueWords): string {
  const got = butGot(value, words);
  if (issue.code === 'invalid_type') return messageForKind(kindOf(issue.expected, words), value, words);
  if (issue.code === 'invalid_value') return `must be ${oneOf(issue.values)}${got}`;
  if (issue.code === 'invalid_union') return messageForDiscriminator(issue, value, got);
  if (issue.code === 'too_small') return messageForLimit('at least', issue.minimum, issue.origin, got);
  if (issue.code === 'too_big') return messageForLimit('at most', issue.maximum, issue.origin, got);
  return typeof value === 'object' ? issue.message : `${issue.message}${got}`;
}

function messageForKind(kind: string, value: unknown, words: IssueWords): string {
  return value === undefined ? `is missing; it must be ${kind}` : `must be ${kind}${butGot(value, words)}`;
}

function messageForDiscriminator(issue: Issue, value: unknown, got: string): string {
  const options = 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
  if (value === undefined) return `is missing; it must be ${oneOf(options)}`;
  const meant = typeof value === 'string' ? closestName(value, options.map(String)) : null;
  return `must be ${oneOf(options)}${got}${meant ? `; did you mean ${meant}?` : ''}`;
}

function messageForLimit(word: string, limit: number | bigint, origin: string, got: string): string {
  if (origin === 'array') return `must have ${word} ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
  if (origin === 'string') return `must have ${word} ${limit} ${limit === 1 ? 'character' : 'characters'}`;
  return `must be ${word} ${limit}${got}`;
}

const KINDS: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
};

function kindOf(expected: string, { object }: IssueWords): string {
  return KINDS[expected] ?? (expected === 'object' || expected === 'record' ? object : expected);
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map(String);
  if (texts.length < 2) return texts.join('');
  return `one of ${texts.join(', ')}`;
}

/** Shows plain values only, and not much of them. */
function butGot(value: unknown, { object, nothing }: IssueWords): string {
  if (value === undefined) return '';
  if (value === null) return `, got ${nothing}`;
  if (Array.isArray(value)) return ', got a list';
  if (typeof value === 'object') return `, got ${object}`;
  // A malformed address may hold a password at any place.
  if (typeof value === 'string' && value.includes('@'))
    return '; the value is not shown, it may hold a password';
  const text = JSON.stringify(value);
  return `, got ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The allowed keys of the map at `path`, given the variants that `tree` has chosen. */
function allowedKeys(schema: JsonSchema, tree: unknown, path: ValuePath): readonly string[] {
  const found = schemasAt(schema, tree, path);
  return [...new Set(found.flatMap((candidate) => Object.keys(candidate.properties ?? {})))];
}

function schemasAt(schema: JsonSchema, value: unknown, path: ValuePath): readonly JsonSchema[] {
  const candidates = alternatives(schema, value);
  const [step, ...rest] = path;
  if (step === undefined) return candidates;
  const inner =
    isRecord(value) || Array.isArray(value) ? (value as Record<string | number, unknown>)[step] : undefined;
  return candidates
    .map((candidate) => stepInto(candidate, step))
    .filter((next) => next !== null)
    .flatMap((next) => schemasAt(next, inner, rest));
}

function alternatives(schema: JsonSchema, value: unknown): readonly JsonSchema[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(isSchema);
  if (choices.length === 0) return [schema];
  const chosen = choices.filter((choice) => isChosen(choice, value));
  return (chosen.length > 0 ? chosen : choices).flatMap((choice) => alternatives(choice, value));
}

/** Whether a constant property picks this alternative. */
function isChosen(choice: JsonSchema, value: unknown): boolean {
  if (!isRecord(value)) return false;
  const constants = Object.entries(choice.properties ?? {}).filter(
    ([, inner]) => isSchema(inner) && 'const' in inner,
  );
  return (
    constants.length > 0 && constants.every(([key, inner]) => isSchema(inner) && inner.const === value[key])
  );
}

function stepInto(schema: JsonSchema, step: string | number): JsonSchema | null {
  const next =
    typeof step === 'number'
      ? (schema.prefixItems?.[step] ?? schema.items)
      : (schema.properties?.[step] ?? schema.additionalProperties);
  return isSchema(next) ? next : null;
}

function isSchema(schema: unknown): schema is JsonSchema {
  return isRecord(schema);
}
