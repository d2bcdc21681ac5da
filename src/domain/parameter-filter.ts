import { createHash } from 'node:crypto';
import { RE2JS } from 're2js';
import { hintFor, someOf } from '../lib/closest-name.ts';
import { javaFloat } from '../lib/java-number.ts';
import { invalid, misconfigured, shortened, TilewardenError } from './errors.ts';
import type { TimeDimension } from './time-values.ts';

/** Decides which values of one request parameter make a tile set of their own. */
export interface ParameterFilter {
  /** Upper case. */
  readonly name: string;
  readonly defaultValue: string;
  /** The allowed values, if they can be listed. */
  readonly values: readonly string[] | null;
  /** For a time parameter: its values are instants, and its default may move. */
  readonly times?: TimeDimension;
  /** The effective value: normalised, or the nearest allowed. Throws `parameter-refused`. */
  apply(value: string): string;
}

/** One combination of parameter values, complete with defaults. */
export interface ParameterSelection {
  /** Null when every value is its default. */
  readonly id: string | null;
  readonly values: ReadonlyMap<string, string>;
  /** One of the values is an instant: whether it is listed, and which one is the default, depends on the time. */
  readonly timed?: true;
  /** The text of a `Warning` header. */
  readonly note?: string;
}

export interface FilterOptions {
  readonly name: string;
  /** The value of an absent or empty parameter; always accepted, whether or not it is listed or matches. */
  readonly defaultValue?: string;
  /** At most one of the next four restricts other values; without one, any value is allowed. */
  readonly values?: readonly string[];
  /** Must match the whole value; letters of either case match when `normalize` is set. */
  readonly regex?: string;
  /** Empty: any whole number. */
  readonly integers?: readonly number[];
  /** Empty: any number. */
  readonly floats?: readonly number[];
  /** A value counts as the nearest listed number if it is closer to it than this. */
  readonly threshold?: number;
  readonly normalize?: 'none' | 'upper' | 'lower';
}

/** Bytes. */
const MAX_PARAMETER_VALUE = 1024;

const DEFAULT_INTEGER_THRESHOLD = 1;
const DEFAULT_FLOAT_THRESHOLD = 1e-6;
const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/;
const INTEGER = /^[+-]?\d{1,16}$/;
const FLOAT = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i;
/** A surrogate without its partner has no UTF-8 form, so two different ones would share an id. */
const LONE_SURROGATE = /\p{Surrogate}/u;

export function createParameterFilter(options: FilterOptions): ParameterFilter {
  const { integers, floats, values, regex = '(?s).*', normalize: letterCase = 'none' } = options;
  if (integers) return createNumberFilter(options, integers, INTEGERS);
  if (floats) return createNumberFilter(options, floats, FLOATS);
  const normalize = caseNormalizer(letterCase);
  if (values) {
    const allowed = new Set(values.map(normalize));
    return createFilter(options, [...allowed], normalize, (value) => {
      const normalized = normalize(value);
      return allowed.has(normalized) ? normalized : null;
    });
  }
  const pattern = compile(options.name, regex, letterCase !== 'none');
  return createFilter(options, null, normalize, (value) =>
    pattern.matches(value) ? normalize(value) : null,
  );
}

/** Names are case-insensitive; those without a filter are ignored. Throws `parameter-refused`. */
export function selectParameters(
  filters: readonly ParameterFilter[],
  given: ReadonlyMap<string, string>,
): ParameterSelection {
  const values = new Map<string, string>();
  if (filters.length === 0) return { id: null, values };
  const upperCased = withUpperCaseNames(given);
  let allDefault = true;
  const moving: { timed?: true; note?: string } = {};
  for (const filter of filters) {
    const given = upperCased.get(filter.name) ?? '';
    const value = filter.apply(given);
    values.set(filter.name, value);
    const { times } = filter;
    // The default may be another one tomorrow: tiles are named by their instant.
    allDefault &&= !times && value === filter.defaultValue;
    if (!times) continue;
    moving.timed = true;
    const note = times.noteFor(given, value);
    if (note !== null) moving.note = note;
  }
  return { id: allDefault ? null : parametersIdOf(values), values, ...moving };
}

/** Without times, which are bounded by their list; null: all others are defaults. */
export function idWithoutTimes(
  filters: readonly ParameterFilter[],
  values: ReadonlyMap<string, string>,
): string | null {
  const others = filters.filter(({ times }) => !times);
  const left = new Map([...values].filter(([name]) => others.some((filter) => filter.name === name)));
  const allDefault = others.every(
    ({ name, defaultValue }) => (left.get(name) ?? defaultValue) === defaultValue,
  );
  return allDefault ? null : parametersIdOf(left);
}

/**
 * For requests that select tiles to be changed: a name that no filter has, and an empty value, would select the default
 * combination. Throws `request-invalid`.
 */
export function refuseUnknownParameters(
  filters: readonly ParameterFilter[],
  given: ReadonlyMap<string, string>,
): void {
  const known = filters.map((filter) => filter.name);
  for (const [name, value] of given) {
    const filter = filters.find((one) => one.name === name.toUpperCase());
    if (filter && (value !== '' || filter.defaultValue === '')) continue;
    if (filter) throw invalid(`parameters.${filter.name} must not be empty; leave it out for its default.`);
    throw invalid(`parameters.${shortened(name)} is unknown; ${hintFor(name, known)}`);
  }
}

/** Hex SHA-1 over complete values. See docs/decisions/0001-parameters-id.md. */
export function parametersIdOf(values: ReadonlyMap<string, string>): string {
  const ambiguous = [...values.values()].some((value) => value.includes('&'));
  return ambiguous ? sha1(JSON.stringify(byName(values))) : geoWebCacheIdOf(values);
}

/** GeoWebCache's id, also where a value makes that ambiguous. */
export function geoWebCacheIdOf(values: ReadonlyMap<string, string>): string {
  return sha1(
    `?${byName(values)
      .map(([name, value]) => `${name}=${value}`)
      .join('&')}`,
  );
}

function byName(values: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...values].sort(([a], [b]) => (a < b ? -1 : 1));
}

function sha1(text: string): string {
  return createHash('sha1').update(text, 'utf8').digest('hex');
}

function withUpperCaseNames(given: ReadonlyMap<string, string>): Map<string, string> {
  const upper = new Map<string, string>();
  for (const [name, value] of given) {
    const key = name.toUpperCase();
    if (!upper.has(key)) upper.set(key, value);
  }
  return upper;
}

/** `interpret` returns null for a value that is not allowed. */
function createFilter(
  options: FilterOptions,
  listed: readonly string[] | null,
  normalize: (value: string) => string,
  interpret: (value: string) => string | null,
): ParameterFilter {
  const name = checkedName(options.name);
  const defaultValue = normalize(options.defaultValue ?? '');
  checkDefault(name, defaultValue);
  const values = listed && withDefault(listed, defaultValue);
  return {
    name,
    defaultValue,
    values,
    apply(value) {
      if (value === '') return defaultValue;
      if (!isSound(value)) throw parameterRefused(name, value, values);
      if (normalize(value) === defaultValue) return defaultValue;
      const result = interpret(value);
      if (result === null) throw parameterRefused(name, value, values);
      return result;
    },
  };
}

/** Notation of numbers of a kind, and the tolerance around a listed one. */
interface NumberKind {
  readonly pattern: RegExp;
  readonly threshold: number;
  print(value: number): string;
}

const INTEGERS: NumberKind = { pattern: INTEGER, threshold: DEFAULT_INTEGER_THRESHOLD, print: String };
const FLOATS: NumberKind = { pattern: FLOAT, threshold: DEFAULT_FLOAT_THRESHOLD, print: javaFloat };

function createNumberFilter(
  options: FilterOptions,
  values: readonly number[],
  { pattern, print, ...kind }: NumberKind,
): ParameterFilter {
  const { threshold = kind.threshold } = options;
  /** Null: not a number, or too large for a float. */
  const read = (text: string) =>
    pattern.test(text) && Number.isFinite(Math.fround(Number(text))) ? Number(text) : null;
  const printed = (text: string) => {
    const number = read(text);
    return number === null ? text : print(number);
  };
  // GeoWebCache keeps a default as it is written, in requests to the source and in the names of folders.
  const defaultText = options.defaultValue ?? '';
  const asWritten = (text: string) => (text === printed(defaultText) ? defaultText : text);
  const listed = values.length > 0 ? values.map((value) => asWritten(print(value))) : null;
  const normalize = (text: string) => asWritten(printed(text));
  return createFilter(options, listed, normalize, (text) => {
    const number = read(text);
    if (number === null) return null;
    if (values.length === 0) return print(number);
    const best = values.reduce((a, b) => (Math.abs(b - number) < Math.abs(a - number) ? b : a));
    return best === number || Math.abs(best - number) < threshold ? asWritten(print(best)) : null;
  });
}

function caseNormalizer(letterCase: 'none' | 'upper' | 'lower'): (value: string) => string {
  if (letterCase === 'upper') return (value) => value.toUpperCase();
  if (letterCase === 'lower') return (value) => value.toLowerCase();
  return (value) => value;
}

/** Thousands of layers share a handful of patterns, and compiling one takes most of the time. */
const compiled = new Map<string, RE2JS>();
const MAX_COMPILED = 1000;

function compile(name: string, regex: string, ignoreCase: boolean): RE2JS {
  const key = `${ignoreCase} ${regex}`;
  const known = compiled.get(key);
  if (known) return known;
  try {
    const pattern = RE2JS.compile(regex, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    if (compiled.size < MAX_COMPILED) compiled.set(key, pattern);
    return pattern;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TilewardenError('config-invalid', `The regex of parameter ${name} cannot be used: ${why}`, {
      cause,
    });
  }
}

export function checkedName(name: string): string {
  if (PARAMETER_NAME.test(name)) return name.toUpperCase();
  throw misconfigured(
    `Parameter name ${JSON.stringify(name)} must be a letter or _ followed by up to 63 of A-Z, 0-9, _ . : -`,
  );
}

function checkDefault(name: string, defaultValue: string): void {
  if (isSound(defaultValue)) return;
  throw misconfigured(
    `The default of parameter ${name} must be text of at most ${MAX_PARAMETER_VALUE} bytes.`,
  );
}

function isSound(value: string): boolean {
  return Buffer.byteLength(value) <= MAX_PARAMETER_VALUE && !LONE_SURROGATE.test(value);
}

function withDefault(listed: readonly string[], defaultValue: string): readonly string[] {
  return defaultValue === '' || listed.includes(defaultValue) ? listed : [defaultValue, ...listed];
}

export function parameterRefused(
  name: string,
  value: string,
  allowed: readonly string[] | null,
): TilewardenError {
  const violation = `${shortened(value)} violates filter for parameter ${name}`;
  if (!allowed) return new TilewardenError('parameter-refused', violation);
  return new TilewardenError('parameter-refused', `${violation}; allowed: ${someOf(allowed)}`);
}
