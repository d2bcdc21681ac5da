const DAY_SECONDS = 86_400;
const MAX_DAYS = 1000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
const days = new Map<number, string>();

/** RFC 9110, 5.6.7: `toUTCString` with a cache of days, for every tile has a date. `time`: milliseconds since 1970. */
export function httpDate(time: number): string {
  const seconds = Math.floor(time / 1000);
  const day = Math.floor(seconds / DAY_SECONDS);
  let date = days.get(day);
  if (date === undefined) {
    if (days.size >= MAX_DAYS) days.clear();
    date = new Date(time).toUTCString().slice(0, -'00:00:00 GMT'.length);
    days.set(day, date);
  }
  const rest = seconds - day * DAY_SECONDS;
  const minutes = Math.floor(rest / 60);
  return `${date}${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[rest % 60]} GMT`;
}
