import type { Clock } from '../lib/clock.ts';
import { type FlagValues, misuse } from './command.ts';

const MINUTE = 60_000;
const UNITS: Readonly<Record<string, number>> = {
  min: MINUTE,
  h: 60 * MINUTE,
  d: 24 * 60 * MINUTE,
  w: 7 * 24 * 60 * MINUTE,
};
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** A date, or so long ago (-1) or from now (1), in milliseconds; null when the flag is absent. */
export function momentIn(
  flag: string,
  flags: FlagValues,
  direction: -1 | 1,
  { now }: Pick<Clock, 'now'>,
): number | null {
  const text = flags[flag];
  if (text === undefined) return null;
  const [, amount, unit = ''] = /^(\d{1,5})\s*(min|h|d|w)$/i.exec(text.trim()) ?? [];
  const span = UNITS[unit.toLowerCase()];
  if (amount !== undefined && span !== undefined) return now() + direction * Number(amount) * span;
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw misuse(
    `--${flag} must be a time span such as 7d, 12h or 30min, or a date such as 2027-01-31 or 2027-01-31T12:00:00Z, not ${text}.`,
  );
}
