import type { LocalTime } from './local-time.ts';

/** `22:00-06:00`; the end may lie on the next day, and `24:00` is midnight. */
export const QUIET_HOURS = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

interface Window {
  /** Minutes since midnight. */
  readonly from: number;
  readonly to: number;
}

const DAY_MINUTES = 1440;

/** When somebody wants to be left alone, day after day. */
export class QuietHours {
  readonly #windows: readonly Window[];
  readonly #time: LocalTime;

  constructor(texts: readonly string[], time: LocalTime) {
    this.#windows = texts.map(parseWindow);
    this.#time = time;
  }

  /** When the quiet that reigns at `now` is over; null when there is none. */
  until(now: number): number | null {
    if (this.#windows.length === 0) return null;
    const { minute } = this.#time.at(now);
    const ends = this.#windows
      .filter((window) => isWithin(window, minute))
      .map(({ to }) => this.#time.next(to, now));
    return ends.length === 0 ? null : Math.max(...ends);
  }
}

function parseWindow(text: string): Window {
  const match = QUIET_HOURS.exec(text);
  if (!match) throw new RangeError(`Quiet hours are written 22:00-06:00, not ${text}.`);
  const [, fromHour, fromMinute, toHour = '24', toMinute = '0'] = match;
  return {
    from: Number(fromHour) * 60 + Number(fromMinute),
    to: (Number(toHour) * 60 + Number(toMinute)) % DAY_MINUTES,
  };
}

/** A window that ends where it begins lasts the whole day. */
function isWithin({ from, to }: Window, minute: number): boolean {
  if (from < to) return minute >= from && minute < to;
  return minute >= from || minute < to;
}
