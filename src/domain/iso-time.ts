/**
 * ISO 8601 as WMS 1.3.0, annex D, writes it. Every form is read by one anchored expression without alternatives that
 * overlap, so that the time grows with the length of the text.
 */

/** Precision of a written instant. */
export type Precision = 'year' | 'month' | 'day' | 'second';

export interface Instant {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly precision: Precision;
}

/** Months are counted separately, because they differ in length. */
export interface Period {
  readonly months: number;
  /** Milliseconds. */
  readonly span: number;
  /** The original text, in upper case. */
  readonly text: string;
}

const INSTANT =
  /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?)?)?$/i;
const PERIOD =
  /^P(?:(\d{1,5})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:[.,]\d{1,3})?)S)?)?$/i;
const LENGTHS: Readonly<Record<Precision, number>> = { year: 4, month: 7, day: 10, second: 20 };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Start of the years 0 to 9999, which ISO 8601 writes with four digits. */
const FIRST_INSTANT = -62_167_219_200_000;
export const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Null: it is not an instant. Without a zone it is in UTC. */
export function readInstant(text: string): Instant | null {
  const parts = INSTANT.exec(text.trim());
  if (!parts) return null;
  const [, year = '', month = '1', day = '1', hour = '0', minute = '0', second = '0', fraction = '0'] = parts;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isDate = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  if (!isDate || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  date.setUTCHours(Number(hour), Number(minute), Number(second), Math.floor(Number(`0.${fraction}`) * 1000));
  const offset = zoneOffset(parts[8]);
  const at = date.getTime() - (offset ?? 0);
  if (offset === null || at > LAST_INSTANT || at < FIRST_INSTANT) return null;
  const written = [parts[4] && 'second', parts[3] && 'day', parts[2] && 'month'] as const;
  return { at, precision: written.find((precision) => precision) || 'year' };
}

/** Milliseconds; null: no such zone. */
function zoneOffset(zone = 'Z'): number | null {
  if (zone.toUpperCase() === 'Z') return 0;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
  if (hours > 23 || minutes > 59) return null;
  return (zone.startsWith('-') ? -1 : 1) * (hours * HOUR + minutes * MINUTE);
}

/** The instant in UTC, with milliseconds unless they are 0. */
export function printInstant(at: number, precision: Precision): string {
  const text = new Date(at).toISOString();
  if (precision !== 'second') return text.slice(0, LENGTHS[precision]);
  return at % 1000 === 0 ? `${text.slice(0, 19)}Z` : text;
}

/** Null: it is not a period, or has no length. */
export function readPeriod(text: string): Period | null {
  const [, ...parts] = PERIOD.exec(text.trim()) ?? [];
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map(
    (part) => Number((part ?? '0').replace(',', '.')),
  );
  const span = (weeks * 7 + days) * DAY + hours * HOUR + minutes * MINUTE + Math.round(seconds * 1000);
  const period = { months: years * 12 + months, span, text: text.trim().toUpperCase() };
  return period.months + span > 0 ? period : null;
}

/** The precision that distinguishes the instants of a sequence. */
export function precisionWith(precision: Precision, { months, span }: Period): Precision {
  if (span === 0) return months % 12 === 0 ? precision : finer(precision, 'month');
  return finer(precision, span % DAY === 0 ? 'day' : 'second');
}

function finer(one: Precision, other: Precision): Precision {
  return LENGTHS[one] >= LENGTHS[other] ? one : other;
}

/** `times` may be negative. In a month without the day it is the last of that month. */
export function addPeriod(
  at: number,
  { months, span }: Pick<Period, 'months' | 'span'>,
  times: number,
): number {
  if (months === 0) return at + span * times;
  const date = new Date(at);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months * times);
  const lastDay = new Date(date);
  lastDay.setUTCMonth(date.getUTCMonth() + 1, 0);
  date.setUTCDate(Math.min(day, lastDay.getUTCDate()));
  return date.getTime() + span * times;
}
