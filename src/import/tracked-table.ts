import { isRecord } from '../lib/value-path.ts';
import type { SubjectReport } from './import-report.ts';

/** The key of the text of an element that has attributes too. */
export const TEXT = '#text';

export type Table = Readonly<Record<string, unknown>>;

/** Why fields are left out, by name; others have no counterpart. */
export type Reasons = Readonly<Record<string, string>>;

type Fate = (about: SubjectReport, element: string) => void;

const TAKEN: Fate = (about, element) => about.taken(element);

/**
 * A table of another program's configuration that records the fields its reader uses. `report` names all the others as
 * left out, so that no field is dropped silently. Fields without a value count as absent.
 */
export class TrackedTable {
  readonly #table: Table;
  readonly #about: SubjectReport;
  readonly #path: string;
  readonly #fates = new Map<string, Fate>();
  readonly #inner = new Map<string, readonly TrackedTable[]>();

  constructor(table: Table, about: SubjectReport, path = '') {
    this.#table = table;
    this.#about = about;
    this.#path = path;
  }

  keys(): readonly string[] {
    return Object.keys(this.#table).filter((key) => this.has(key));
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#table, key) && this.#table[key] !== undefined && this.#table[key] !== null;
  }

  /** Undefined if the field is absent, or is not `kind`, which is reported. */
  take<Value>(key: string, read: (value: unknown) => Value | undefined, kind: string): Value | undefined {
    if (!this.has(key)) return undefined;
    const value = read(this.#table[key]);
    if (value === undefined) this.leaveOut(key, `is not ${kind}`);
    else this.#fates.set(key, TAKEN);
    return value;
  }

  text(key: string): string | undefined {
    return this.take(key, textOf, 'a text');
  }

  number(key: string): number | undefined {
    return this.take(key, numberOf, 'a number');
  }

  numbers(key: string): readonly number[] | undefined {
    return this.take(key, numbersOf, 'a list of numbers');
  }

  pair(key: string): readonly number[] | undefined {
    return this.take(key, (value) => only(numbersOf(value), 2), 'two numbers');
  }

  flag(key: string): boolean | undefined {
    return this.take(key, flagOf, 'true or false');
  }

  /** The fields of these that `take` could not read. */
  unread(keys: readonly string[]): readonly string[] {
    return keys.filter((key) => this.has(key) && this.#fates.get(key) !== TAKEN);
  }

  /** Every value, inner ones too, as text. */
  allText(): string {
    return JSON.stringify(this.#table);
  }

  /** Texts, one alone or in a list. */
  texts(key: string): readonly string[] {
    return this.take(key, (value) => listOf(value).map(String), 'a list') ?? [];
  }

  /** The tables in a field, one alone or in a list; each reports its own fields. Another value becomes a table with a text. */
  tables(key: string): readonly TrackedTable[] {
    const known = this.#inner.get(key);
    if (known) return known;
    const values = this.has(key) ? listOf(this.#table[key]) : [];
    if (values.length === 0) return [];
    const path = this.#elementOf(key);
    const tables = values.map(
      (value) => new TrackedTable(isRecord(value) ? value : { [TEXT]: value }, this.#about, path),
    );
    this.#inner.set(key, tables);
    return tables;
  }

  /** The first table in a field; empty if there is none. */
  table(key: string): TrackedTable {
    return this.tables(key)[0] ?? new TrackedTable({}, this.#about, this.#elementOf(key));
  }

  change(key: string, what: string): void {
    this.#fates.set(key, (about, element) => about.changed(element, what));
  }

  leaveOut(key: string, why: string): void {
    this.#fates.set(key, (about, element) => void about.leftOut(element, why));
  }

  /** Reports the fate of every field, inner tables included. */
  report(reasons: Reasons = {}): void {
    for (const key of this.keys()) {
      const fate = this.#fates.get(key);
      const inner = this.#inner.get(key) ?? [];
      for (const table of inner) table.report(reasons);
      if (!fate && inner.length > 0) continue;
      const why = reasons[key] ?? 'has no counterpart';
      (fate ?? ((about, element) => void about.leftOut(element, why)))(this.#about, this.#elementOf(key));
    }
  }

  #elementOf(key: string): string {
    if (key === TEXT) return this.#path;
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }
}

export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Lists are joined with commas, as parameters of WMS have them. */
export function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.join(',');
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function flagOf(value: unknown): boolean | undefined {
  const text = String(value).toLowerCase();
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

export function numbersOf(value: unknown): readonly number[] | undefined {
  const list = typeof value === 'string' ? value.trim().split(/[\s,]+/) : listOf(value);
  const numbers = list.map(numberOf).filter((number) => number !== undefined);
  return list.length > 0 && numbers.length === list.length ? numbers : undefined;
}

export function only(numbers: readonly number[] | undefined, count: number): readonly number[] | undefined {
  return numbers?.length === count ? numbers : undefined;
}
