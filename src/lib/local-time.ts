const DAY_MINUTES = 1440;
const MINUTE_MS = 60_000;

interface LocalMoment {
  /** `2026-11-15`. */
  readonly day: string;
  /** Since midnight. */
  readonly minute: number;
  readonly second: number;
}

/** Days and hours as clocks in one time zone show them. */
export class LocalTime {
  readonly #format: Intl.DateTimeFormat;
  #last: { readonly second: number; readonly moment: LocalMoment } | null = null;

  /** Throws a RangeError when there is no such zone. */
  constructor(timeZone: string) {
    // Swedish for `2026-11-15 08:24:10`.
    this.#format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  }

  at(time: number): LocalMoment {
    const second = Math.floor(time / 1000);
    if (this.#last?.second === second) return this.#last.moment;
    const moment = this.#read(time);
    this.#last = { second, moment };
    return moment;
  }

  /** The next moment after `time` at which clocks show this minute of a day, or jump over it. */
  next(minute: number, time: number): number {
    const start = Math.floor(time / MINUTE_MS) * MINUTE_MS;
    const ahead = wrap(minute - this.at(start).minute) || DAY_MINUTES;
    const guess = start + ahead * MINUTE_MS;
    // Where clocks were changed in between, the guess is off by as much.
    const error = wrap(minute - this.at(guess).minute + DAY_MINUTES / 2) - DAY_MINUTES / 2;
    const mended = guess + error * MINUTE_MS;
    if (error < 0 && this.at(mended).minute !== minute) return this.#jumpBetween(mended, guess);
    return Math.max(start + MINUTE_MS, mended);
  }

  /** The first moment by which clocks have gone further than time has. */
  #jumpBetween(before: number, after: number): number {
    const shown = this.at(before).minute;
    let [from, to] = [before, after];
    while (to - from > MINUTE_MS) {
      const middle = from + Math.floor((to - from) / 2 / MINUTE_MS) * MINUTE_MS;
      const jumped = wrap(this.at(middle).minute - shown) > (middle - before) / MINUTE_MS;
      [from, to] = jumped ? [from, middle] : [middle, to];
    }
    return to;
  }

  #read(time: number): LocalMoment {
    const [day = '', clock = ''] = this.#format.format(time).split(' ');
    const [hour = 0, minute = 0, second = 0] = clock.split(':').map(Number);
    return { day, minute: hour * 60 + minute, second };
  }
}

function wrap(minutes: number): number {
  return ((minutes % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
}
