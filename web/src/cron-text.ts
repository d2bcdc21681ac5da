import { TEXTS } from './texts.ts';

const WORDS = TEXTS.cron;
const FULL: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};
const DAY_NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** `0 22 * * 1-5` → "every Monday to Friday at 22:00"; null for what takes more than a sentence. */
export function cronText(cron: string): string | null {
  const fields = (FULL[cron.trim().toLowerCase()] ?? cron).trim().split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  if (fields.length !== 5) return null;
  const time = timeText(minute, hour);
  const days = daysText(day, weekday);
  const months = listText(month, (text) => named(text, WORDS.months, 1));
  if (time === null || days === null || months === null) return null;
  const often = hour === '*' || hour.startsWith('*/');
  const everyDay = day === '*' && weekday === '*';
  const parts = often ? [time, everyDay ? '' : days] : [days, time];
  return [...parts, month === '*' ? '' : WORDS.inMonths(months)].filter((part) => part !== '').join(' ');
}

/** Whether it has the shape of a cron expression; the server knows the rest. */
export function looksLikeCron(cron: string): boolean {
  return cron.trim().startsWith('@') || cron.trim().split(/\s+/).length === 5;
}

function timeText(minute: string, hour: string): string | null {
  const step = /^\*\/(\d+)$/;
  const minutes = step.exec(minute)?.[1];
  if (hour === '*' && minute === '*') return WORDS.everyMinute;
  if (hour === '*' && minutes !== undefined) return WORDS.everyMinutes(minutes);
  if (!/^\d{1,2}$/.test(minute)) return null;
  const past = minute.padStart(2, '0');
  if (hour === '*') return WORDS.everyHour(past);
  const hours = step.exec(hour)?.[1];
  if (hours !== undefined) return WORDS.everyHours(hours, past);
  const times = listText(hour, (text) =>
    /^\d{1,2}$/.test(text) ? `${text.padStart(2, '0')}:${past}` : null,
  );
  return times === null || hour.includes('-') ? null : WORDS.at(times);
}

function daysText(day: string, weekday: string): string | null {
  const days = listText(day, (text) => (/^\d{1,2}$/.test(text) ? text : null));
  const weekdays = listText(weekday, (text) => named(text, WORDS.weekdays, 0));
  if (days === null || weekdays === null) return null;
  if (day === '*' && weekday === '*') return WORDS.everyDay;
  if (day === '*') return WORDS.every(weekdays);
  // With both given a run is due on either.
  return weekday === '*' ? WORDS.onDays(days) : WORDS.either(WORDS.onDays(days), WORDS.every(weekdays));
}

/** `*` is an empty text. Null when one of the parts cannot be told. */
function listText(field: string, name: (text: string) => string | null): string | null {
  if (field === '*') return '';
  const parts = field.split(',').map((part) => {
    const [from = '', to] = part.split('-', 2);
    const [first, last] = [name(from), to === undefined ? '' : name(to)];
    if (first === null || last === null) return null;
    return last === '' ? first : WORDS.range(first, last);
  });
  return parts.some((part) => part === null) ? null : WORDS.list(parts as string[]);
}

function named(text: string, names: readonly string[], first: number): string | null {
  const short = DAY_NAMES.indexOf(text.toUpperCase());
  if (short >= 0 && first === 0) return names[short] ?? null;
  if (!/^\d{1,2}$/.test(text)) return null;
  return names[(Number(text) - first) % (first === 0 ? 7 : 12)] ?? null;
}
