import { type DocumentNode, leaf, listOf } from './document-node.ts';
import { attributeOf, bodyProblem, entriesOf, integerField, type WireElement } from './wire-element.ts';

interface Rule {
  readonly minZoom: number;
  readonly seconds: number;
}

type Expiry = number | readonly Rule[];

const YEAR = 31_536_000;
/** GeoWebCache's default for clients. */
const DEFAULT_CLIENT_SECONDS = 7200;
/** GeoWebCache's special values: never expires, not cached, lifetime of the source. */
const NEVER = -2;
const NOT_CACHED = -1;
const AS_SOURCE = -4;

/** In the configuration file's values: 0 never expires, -1 is not stored. */
export function readCacheExpiry(root: WireElement): {
  readonly expireCache?: Expiry;
  readonly followSource?: true;
} {
  const expiry = readExpiry(root, 'expireCache');
  if (expiry === undefined) return {};
  const all = typeof expiry === 'number' ? [expiry] : expiry.map((rule) => rule.seconds);
  const follows = all.includes(AS_SOURCE);
  const seconds = (value: number) => (value === NEVER || value === AS_SOURCE ? 0 : value);
  return { expireCache: mapped(expiry, seconds), ...(follows && { followSource: true }) };
}

/** In the configuration file's values: -1 is revalidated each time. */
export function readClientExpiry(root: WireElement): Expiry {
  const expiry = readExpiry(root, 'expireClients') ?? DEFAULT_CLIENT_SECONDS;
  return mapped(expiry, (value) => {
    if (value === NEVER) return YEAR;
    return value === AS_SOURCE ? 0 : value;
  });
}

/** `expireCache` or `expireCacheList`, and the same for clients. */
export function writeExpiry(
  name: 'expireCache' | 'expireClients',
  value: unknown,
  follows: boolean,
): DocumentNode | null {
  const theirValue = (seconds: number) => (follows && seconds === 0 ? AS_SOURCE : seconds);
  if (typeof value === 'number') return leaf(name, theirValue(value));
  if (!Array.isArray(value)) return null;
  const rules: readonly Rule[] = value;
  return listOf(
    `${name}List`,
    rules.map(({ minZoom, seconds }) => ({
      name: 'expirationRule',
      attributes: { minZoom: String(minZoom), expiration: String(theirValue(seconds)) },
      content: [],
    })),
  );
}

function mapped(expiry: Expiry, seconds: (value: number) => number): Expiry {
  if (typeof expiry === 'number') return seconds(expiry);
  return expiry.map((rule) => ({ ...rule, seconds: seconds(rule.seconds) }));
}

function readExpiry(root: WireElement, name: string): Expiry | undefined {
  const rules = entriesOf(root, `${name}List`, ['expirationRule']) ?? [];
  if (rules.length > 0) return rules.map(readRule);
  const seconds = integerField(root, name);
  if (seconds === undefined || allowed(seconds)) return seconds;
  throw bodyProblem(`${name} must be a number of seconds, -1 or -2, not ${seconds}`, root.place);
}

function readRule(rule: WireElement): Rule {
  const number = (name: string) => {
    const text = attributeOf(rule, name) ?? '';
    if (/^-?\d{1,10}$/.test(text)) return Number(text);
    throw bodyProblem(`An expirationRule must have a whole number as ${name}`, rule.place);
  };
  const seconds = number('expiration');
  if (allowed(seconds)) return { minZoom: number('minZoom'), seconds };
  throw bodyProblem(`expiration must be a number of seconds, -1 or -2, not ${seconds}`, rule.place);
}

function allowed(seconds: number): boolean {
  return seconds >= 0 || [NEVER, NOT_CACHED, AS_SOURCE].includes(seconds);
}
