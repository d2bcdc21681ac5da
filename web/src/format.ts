import type { Task } from './api/task-feed.ts';
import { LANGUAGE, LOCALE, TEXTS } from './texts.ts';

const UNITS = TEXTS.byteUnits;
/** Units of time, in seconds. */
const LARGE_UNITS: readonly (readonly [size: number, unit: string])[] = [
  [86_400, TEXTS.timeUnits.d],
  [3600, TEXTS.timeUnits.h],
  [60, TEXTS.timeUnits.min],
];
const SECONDS = [1, TEXTS.timeUnits.s] as const;
const TO_THE_MINUTE = { dateStyle: 'medium', timeStyle: 'short' } as const;
/** Cached by options, because each takes 50 ms to create on a slow processor. */
const numbers = new Map<string, Intl.NumberFormat>();
const dates = new Map<string, Intl.DateTimeFormat>();

const plurals = new Intl.PluralRules(LANGUAGE);

/** A text of the console, or its singular and plural. */
export type Text = string | { readonly one: string; readonly other: string };

/** Puts values into a text in place of `{name}`. `count` also decides between singular and plural. */
export function fill(
  text: Text,
  values: Readonly<Record<string, string | number>> & { readonly count?: number },
): string {
  const { count = 0 } = values;
  const form = typeof text === 'string' ? text : text[plurals.select(count) === 'one' ? 'one' : 'other'];
  return form.replace(/\{(\w+)\}/g, (_, name) =>
    name === 'count' ? countText(count) : String(values[name]),
  );
}

/** E.g. `Copy: Tiles`. */
export function labelled(label: string, value: string): string {
  return fill(TEXTS.labelled, { label, value });
}

function numberText(value: number, digits: number, options: Intl.NumberFormatOptions = {}): string {
  const key = `${digits} ${options.minimumFractionDigits ?? options.notation}`;
  const known =
    numbers.get(key) ?? new Intl.NumberFormat(LOCALE, { maximumFractionDigits: digits, ...options });
  numbers.set(key, known);
  return known.format(value);
}

/** Always with the 24-hour clock, as in cron expressions and logs. */
function dateText(iso: string, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(options);
  const known = dates.get(key) ?? new Intl.DateTimeFormat(LOCALE, { hourCycle: 'h23', ...options });
  dates.set(key, known);
  return known.format(new Date(iso));
}

const DECIMAL_MARK = new Intl.NumberFormat(LOCALE).formatToParts(0.5).find(({ type }) => type === 'decimal');
/** Languages other than English also accept a comma, as in `2,5`, and refuse `1.024`, which is ambiguous there. */
const TYPED = LANGUAGE !== 'en' ? /^(?!\d{1,3}(\.\d{3})+$)\d+([.,]\d+)?$/ : /^\d+(\.\d+)?$/;

/** Parses a typed number of at least 0, e.g. `2.5`; null if it is not one. */
export function typedNumber(text: string): number | null {
  return TYPED.test(text.trim()) ? Number(text.trim().replace(',', '.')) : null;
}

/** A number in a form that `typedNumber` parses. */
export function numberField(value: number): string {
  return String(value).replace('.', DECIMAL_MARK?.value ?? '.');
}

/** E.g. `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const sign = bytes < 0 ? '−' : '';
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10));
  const size = Math.abs(bytes) / 1024 ** unit;
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${sign}${numberText(size, digits, { minimumFractionDigits: digits })} ${UNITS[unit]}`;
}

/**
 * Whole up to a million, e.g. `12,345`; above, `3.4 million`. Spanish and French use a short form, because a noun after the
 * long one would need a preposition: `3,4 millones de teselas`.
 */
export function countText(count: number): string {
  if (Math.abs(count) < 1e6) return numberText(count, 0);
  const compactDisplay = LANGUAGE === 'es' || LANGUAGE === 'fr' ? 'short' : 'long';
  return numberText(count, 1, { notation: 'compact', compactDisplay });
}

/** With tenths below ten. */
export function rateText(rate: number): string {
  return rate < 10 ? numberText(rate, 1) : countText(rate);
}

/** E.g. `2.5 tiles/s`. */
export function tileRateText(rate: number): string {
  return fill(TEXTS.tasks.rate, { count: Math.round(rate * 10) / 10, rate: rateText(rate) });
}

/** E.g. `zooms 3 to 7`. */
export function zoomsText(from: number, to: number): string {
  return from === to ? fill(TEXTS.zoom, { zoom: from }) : fill(TEXTS.zooms, { from, to });
}

export function percentText(share: number): string {
  const percent = share * 100;
  const tenth = (value: number) => numberText(value, 1, { minimumFractionDigits: 1 });
  if (percent > 0 && percent < 0.1) return `<${tenth(0.1)} %`;
  if (percent > 99.9 && percent < 100) return `>${tenth(99.9)} %`;
  return `${percent < 10 && percent > 0 ? tenth(percent) : numberText(percent, 0)} %`;
}

/** In the two largest units, e.g. `2 h 5 min`, or `7 d`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = LARGE_UNITS.findIndex(([size]) => whole >= size);
  const [[size, unit] = SECONDS, [part, smaller] = SECONDS] = first < 0 ? [] : LARGE_UNITS.slice(first);
  const rest = Math.floor((whole % size) / part);
  return `${countText(Math.floor(whole / size))} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`;
}

/** E.g. `15 Nov 2026, 08:24`, in this browser's time zone by default. */
export function timeText(iso: string, timeZone?: string): string {
  return dateText(iso, timeZone === undefined ? TO_THE_MINUTE : { ...TO_THE_MINUTE, timeZone });
}

/** E.g. `15 Nov 2026, 08:24:07`. */
export function preciseTimeText(iso: string): string {
  return dateText(iso, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** Only the time, with seconds, if it is within a day of now, e.g. `12:04:17`. */
export function momentText(iso: string): string {
  const near = Math.abs(Date.parse(iso) - Date.now()) < 86_400_000;
  return near ? dateText(iso, { timeStyle: 'medium' }) : timeText(iso);
}

/** Replaces ISO 8601 times in a text of the server. */
export function withLocalTimes(text: string, timeZone?: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) =>
    timeZone === undefined ? momentText(time) : timeText(time, timeZone),
  );
}

/** In the largest unit, e.g. `3 h ago`. */
export function agoText(iso: string): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(iso)) / 1000);
  const [size, unit] = LARGE_UNITS.find(([least]) => seconds >= least) ?? [];
  return size === undefined
    ? TEXTS.justNow
    : fill(TEXTS.ago, { time: `${Math.floor(seconds / size)} ${unit}` });
}

/** The message of a failure, with the map server's own if it sent one. */
export function failureText({
  message,
  upstream,
}: Pick<Task['errors'][number], 'message' | 'upstream'>): string {
  const words = upstream?.text ?? null;
  return words === null ? message : `${message} ${fill(TEXTS.upstreamSaid, { words })}`;
}

/** `in the last 24 hours`, or since when if the period is shorter; null: since the server started. */
export function sinceText(iso: string | null): string {
  if (iso === null) return TEXTS.sinceServerStart;
  const isWholeDay = Date.now() - Date.parse(iso) > 23.9 * 3_600_000;
  return isWholeDay ? TEXTS.lastDay : fill(TEXTS.sinceStart, { time: dateText(iso, { timeStyle: 'short' }) });
}

/** With up to six decimals, e.g. `-180` or `1234.56`. */
export function coordinateText(value: number): string {
  return String(Number(value.toFixed(6)));
}

/** Bounds with up to two decimals. */
export function extentText(extent: readonly number[]): string {
  return extent.map((edge) => coordinateText(Math.round(edge * 100) / 100)).join(', ');
}

/** Units per pixel, e.g. `4891.97` or `0.000000335276`. */
export function resolutionText(value: number): string {
  const text = String(Number(value.toPrecision(6)));
  return text.includes('e') ? value.toFixed(12).replace(/0{1,12}$/, '') : text;
}

/** The parameter values, or the beginning of the id if the server does not know them. */
export function parametersText(
  id: string | null,
  values: Readonly<Record<string, string>> | null,
  defaults: string,
): string {
  if (id === null) return defaults || TEXTS.none;
  return values === null ? id.slice(0, 8) : valuesText(values);
}

/** `STYLES=dark, TIME=2020`. */
export function valuesText(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
