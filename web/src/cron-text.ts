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
const FIELDS = [
  [WORDS.fields[0], 0, 59],
  [WORDS.fields[1], 0, 23],
  [WORDS.fields[2], 1, 31],
  [WORDS.fields[3], 1, 12],
  [WORDS.fields[4], 0, 7],
] as const;
/** `*`, `5`, `MON-FRI`, `10-50/5`, and what L, W and # add. */
const PART = /^(\*|\?|[0-9A-Z#+]+(-[0-9A-Z]+)?)(\/[1-9]\d*)?$/i;
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
  const often = hour === '*' || hour.startsWith('*/') || /^\*/.test(minute);
  const everyDay = day === '*' && weekday === '*';
  const parts = often ? [time, everyDay ? '' : days] : [days, time];
  return [...parts, month === '*' ? '' : WORDS.inMonths(months)].filter((part) => part !== '').join(' ');
}

/** What is wrong with it, in words; null when it can be sent. The server knows the rarer forms. */
export function cronFault(cron: string): string | null {
  const text = cron.trim();
  if (text.startsWith('@')) {
    return text.toLowerCase() in FULL ? null : WORDS.unknownWord(text, Object.keys(FULL).join(', '));
  }
  const fields = text === '' ? [] : text.split(/\s+/);
  if (fields.length !== 5) return WORDS.fieldCount(fields.length);
  for (const [place, field] of fields.entries()) {
    const [name = '', least = 0, most = 0] = FIELDS[place] ?? [];
    for (const part of field.split(',')) {
      const numbers = part.split('/', 1)[0]?.match(/\d+/g) ?? [];
      const outside = numbers.some((number) => Number(number) < least || Number(number) > most);
      if (outside || !PART.test(part)) return WORDS.badField(name, part, least, most);
    }
  }
  return null;
}

function timeText(minute: string, hour: string): string | null {
  const step = /^\*\/(\d+)$/;
  const minutes = step.exec(minute)?.[1];
  if (hour === '*' && minute === '*') return WORDS.everyMinute;
  if (hour === '*' && minutes !== undefined) return WORDS.everyMinutes(minutes);
  const within = /^(\d{1,2})-(\d{1,2})$/.exec(hour);
  if (within && (minute === '*' || minutes !== undefined)) {
    const often = minutes === undefined ? WORDS.everyMinute : WORDS.everyMinutes(minutes);
    return WORDS.within(often, `${padded(within[1])}:00`, `${padded(within[2])}:59`);
  }
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

function padded(text = ''): string {
  return text.padStart(2, '0');
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
