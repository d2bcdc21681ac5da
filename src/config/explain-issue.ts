import type { z } from 'zod';
import { closestName } from '../lib/closest-name.ts';
import { allowedKeys } from './allowed-keys.ts';
import { createSettingsSchema, type JsonSchema } from './json-schema.ts';
import { type SettingPath, valueAt } from './setting-path.ts';

type Issue = z.core.$ZodIssue;

export interface Explanation {
  readonly path: SettingPath;
  /** The key that is at fault, when it is a key and not a value. */
  readonly key?: string;
  /** Continues a sentence that begins with the path, e.g. `must be a whole number`. */
  readonly message: string;
}

/** What is wrong, in words for whoever wrote the file. */
export function explainIssues(issues: readonly Issue[], tree: unknown): readonly Explanation[] {
  let schema: JsonSchema | null = null;
  const keysAt = (path: SettingPath) => {
    schema ??= createSettingsSchema();
    return allowedKeys(schema, tree, path);
  };
  return issues.flatMap((issue) => explainIssue(issue, { tree, keysAt }, []));
}

interface Context {
  readonly tree: unknown;
  readonly keysAt: (path: SettingPath) => readonly string[];
}

function explainIssue(issue: Issue, context: Context, base: SettingPath): readonly Explanation[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => explainKey(key, context, path));
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return explainUnion(issue, context, path);
  if (issue.code === 'invalid_key') return explainBadKey(issue, path);
  return [{ path, message: messageOf(issue, valueAt(context.tree, path)) }];
}

function explainKey(key: string, context: Context, path: SettingPath): Explanation {
  const allowed = context.keysAt(path);
  const meant = closestName(key, allowed);
  const hint = meant ? `did you mean ${meant}?` : `known here: ${allowed.join(', ')}`;
  return { path, key, message: `is not a setting; ${hint}` };
}

function explainBadKey(issue: Issue, path: SettingPath): readonly Explanation[] {
  const key = path.at(-1);
  const name = typeof key === 'string' ? { key } : {};
  const first = 'issues' in issue && Array.isArray(issue.issues) ? issue.issues[0] : null;
  return [{ path: path.slice(0, -1), ...name, message: first ? messageOf(first, key) : 'is not a name' }];
}

/** A union fails with one list of issues an alternative: the one that came furthest says most. */
function explainUnion(
  issue: z.core.$ZodIssueInvalidUnion,
  context: Context,
  path: SettingPath,
): readonly Explanation[] {
  const ownFaults = issue.errors.filter((issues) =>
    issues.some((inner) => inner.path.length > 0 || inner.code !== 'invalid_type'),
  );
  const [best] = ownFaults;
  if (best) return best.flatMap((inner) => explainIssue(inner, context, path));
  const kinds = issue.errors
    .flatMap((issues) => issues.slice(0, 1))
    .map((inner) => ('expected' in inner ? kindOf(inner.expected) : ''));
  return [
    { path, message: `must be ${[...new Set(kinds)].join(' or ')}${butGot(valueAt(context.tree, path))}` },
  ];
}

function messageOf(issue: Issue, value: unknown): string {
  if (issue.code === 'invalid_type') return messageForType(issue, value);
  if (issue.code === 'invalid_value') return `must be ${oneOf(issue.values)}${butGot(value)}`;
  if (issue.code === 'invalid_union') return messageForDiscriminator(issue, value);
  if (issue.code === 'too_small') return messageForLimit('at least', issue.minimum, issue.origin, value);
  if (issue.code === 'too_big') return messageForLimit('at most', issue.maximum, issue.origin, value);
  return typeof value === 'object' ? issue.message : `${issue.message}${butGot(value)}`;
}

function messageForType(issue: z.core.$ZodIssueInvalidType, value: unknown): string {
  if (value === undefined) return `is missing; it must be ${kindOf(issue.expected)}`;
  return `must be ${kindOf(issue.expected)}${butGot(value)}`;
}

function messageForDiscriminator(issue: Issue, value: unknown): string {
  const options = 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
  if (value === undefined) return `is missing; it must be ${oneOf(options)}`;
  const meant = typeof value === 'string' ? closestName(value, options.map(String)) : null;
  return `must be ${oneOf(options)}${butGot(value)}${meant ? `; did you mean ${meant}?` : ''}`;
}

function messageForLimit(word: string, limit: number | bigint, origin: string, value: unknown): string {
  if (origin === 'array') return `must have ${word} ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
  if (origin === 'string') return `must have ${word} ${limit} ${limit === 1 ? 'character' : 'characters'}`;
  return `must be ${word} ${limit}${butGot(value)}`;
}

const KINDS: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a map',
  record: 'a map',
};

function kindOf(expected: string): string {
  return KINDS[expected] ?? expected;
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map(String);
  if (texts.length < 2) return texts.join('');
  return `one of ${texts.join(', ')}`;
}

/** Shows plain values only, and not much of them. */
function butGot(value: unknown): string {
  if (value === undefined) return '';
  if (value === null) return ', got nothing';
  if (Array.isArray(value)) return ', got a list';
  if (typeof value === 'object') return ', got a map';
  const text = JSON.stringify(value);
  return `, got ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}
