import type { LocalTime } from './local-time.ts';

/** `22:00-06:00`; the end may be on the next day, and `24:00` is midnight. */
export const DAILY_HOURS = /^([01]\d|2[0-3]):([0-5]\d)[-–](?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

interface Span {
  /** Minutes since midnight. */
  readonly from: number;
  readonly to: number;
}

const DAY_MINUTES = 1440;

/** Spans of hours that recur every day. */
export class DailyHours {
  readonly #spans: readonly Span[];
  readonly #time: LocalTime;

  /** Throws a RangeError for a text that is not of the form of `DAILY_HOURS`. */
  constructor(texts: readonly string[], time: LocalTime) {
    this.#spans = texts.map(parseSpan);
    this.#time = time;
  }

  /** The end of the hours that contain `now`; null: none do. */
  until(now: number): number | null {
    const ends = this.#holding(now).map(({ to }) => this.#time.next(to, now));
    return ends.length === 0 ? null : Math.max(...ends);
  }

  /** When the next hours begin: `now` if it is within them; null if there are none. */
  from(now: number): number | null {
    if (this.#spans.length === 0) return null;
    if (this.#holding(now).length > 0) return now;
    return Math.min(...this.#spans.map(({ from }) => this.#time.next(from, now)));
  }

  #holding(now: number): readonly Span[] {
    if (this.#spans.length === 0) return [];
    const { minute } = this.#time.at(now);
    return this.#spans.filter((span) => isWithin(span, minute));
  }
}

function parseSpan(text: string): Span {
  const match = DAILY_HOURS.exec(text);
  if (!match) throw new RangeError(`Hours are written 22:00-06:00, not ${text}.`);
  const [, fromHour, fromMinute, toHour = '24', toMinute = '0'] = match;
  return {
    from: Number(fromHour) * 60 + Number(fromMinute),
    to: (Number(toHour) * 60 + Number(toMinute)) % DAY_MINUTES,
  };
}

/** A span that ends where it begins lasts the whole day. */
function isWithin({ from, to }: Span, minute: number): boolean {
  if (from < to) return minute >= from && minute < to;
  return minute >= from || minute < to;
}
