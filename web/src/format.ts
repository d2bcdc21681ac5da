import type { Task } from './api/task-feed.ts';
import { TEXTS } from './texts.ts';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const SHORT: readonly (readonly [size: number, letter: string])[] = [
  [1e12, ' trillion'],
  [1e9, ' billion'],
  [1e6, ' million'],
];
/** Seconds. */
const LARGE_UNITS: readonly (readonly [size: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];
/** By time zone; made when first needed, as that takes a slow processor a twentieth of a second. */
const dates = new Map<string | undefined, Intl.DateTimeFormat>();

/** E.g. `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const sign = bytes < 0 ? '−' : '';
  let size = Math.abs(bytes);
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  return `${sign}${size.toFixed(digits)} ${UNITS[unit]}`;
}

/** Whole up to a million, e.g. `12,345`; shortened above: `3.4 million`. */
export function countText(count: number): string {
  const size = Math.abs(count);
  const [unit, letter] = SHORT.find(([least]) => size >= least) ?? [1, ''];
  if (letter === '') return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${Number((count / unit).toFixed(1))}${letter}`;
}

/** Whole from ten on: below, a tenth is worth showing. */
export function rateText(rate: number): string {
  return rate < 10 ? String(Number(rate.toFixed(1))) : countText(rate);
}

export function percentText(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '<0.1 %';
  if (percent > 99.9 && percent < 100) return '>99.9 %';
  return `${percent.toFixed(percent < 10 && percent > 0 ? 1 : 0)} %`;
}

/** In its two largest units, e.g. `2 h 5 min`, or `7 d`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = LARGE_UNITS.findIndex(([size]) => whole >= size);
  const [[size, unit] = [1, 's'], [part, smaller] = [1, 's']] = first < 0 ? [] : LARGE_UNITS.slice(first);
  const rest = Math.floor((whole % size) / part);
  return `${countText(Math.floor(whole / size))} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`;
}

/** E.g. `15 Nov 2026, 08:24`, by this browser's clock or that of a time zone. */
export function timeText(iso: string, timeZone?: string): string {
  const known = dates.get(timeZone);
  const date = known ?? dateFormat(timeZone);
  dates.set(timeZone, date);
  return date.format(new Date(iso));
}

/** E.g. `15 Nov 2026, 08:24:07`. */
export function preciseTimeText(iso: string): string {
  return new Date(iso).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
}

/** To the second where it is within a day, e.g. `12:04:17`. */
export function momentText(iso: string): string {
  const near = Math.abs(Date.parse(iso) - Date.now()) < 86_400_000;
  return near ? new Date(iso).toLocaleTimeString('en-GB') : timeText(iso);
}

/** A text of the server, whose times are ISO 8601 in UTC. */
export function withLocalTimes(text: string, timeZone?: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) =>
    timeZone === undefined ? momentText(time) : timeText(time, timeZone),
  );
}

function dateFormat(timeZone?: string): Intl.DateTimeFormat {
  const style = { dateStyle: 'medium', timeStyle: 'short' } as const;
  return new Intl.DateTimeFormat('en-GB', timeZone === undefined ? style : { ...style, timeZone });
}

/** In its largest unit, e.g. `3 h ago`. */
export function agoText(iso: string): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(iso)) / 1000);
  if (seconds < 60) return TEXTS.justNow;
  const [size, unit] = LARGE_UNITS.find(([least]) => seconds >= least) ?? [60, 'min'];
  return TEXTS.ago(`${Math.floor(seconds / size)} ${unit}`);
}

/** Why making tiles failed, with the map server's own words where it sent some. */
export function failureText({
  message,
  upstream,
}: Pick<Task['errors'][number], 'message' | 'upstream'>): string {
  const words = upstream?.text ?? null;
  return words === null ? message : `${message} ${TEXTS.upstreamSaid(words)}`;
}

/** `in the last 24 hours`, or since when it has been counted where that is less; null: since the server started. */
export function sinceText(iso: string | null): string {
  if (iso === null) return TEXTS.sinceServerStart;
  const isWholeDay = Date.now() - Date.parse(iso) > 23.9 * 3_600_000;
  return isWholeDay ? TEXTS.lastDay : TEXTS.sinceStart(momentText(iso).slice(0, 5));
}

/** As precise as a grid needs, e.g. `-180` or `1234.56`. */
export function coordinateText(value: number): string {
  return String(Number(value.toFixed(6)));
}

/** By value where the server knows it, otherwise by the beginning of its id. */
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
