import cronstrue from 'cronstrue';
import { fill } from './format.ts';
import { LANGUAGE, TEXTS } from './texts.ts';

const LOCALES = {
  en: async () => undefined,
  de: () => import('cronstrue/locales/de.js'),
  fr: () => import('cronstrue/locales/fr.js'),
  es: () => import('cronstrue/locales/es.js'),
};
await LOCALES[LANGUAGE]();

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
/** `*`, `5`, `MON-FRI`, `10-50/5`, and forms with L, W and #. */
const PART = /^(\*|\?|[0-9A-Z#+]+(-[0-9A-Z]+)?)(\/[1-9]\d*)?$/i;

const OPTIONS = { use24HourTimeFormat: true, verbose: true, locale: LANGUAGE };

/** `0 22 * * 1-5` → "At 22:00, Monday through Friday"; null if it cannot be described. */
export function cronText(cron: string): string | null {
  if (cronFault(cron) !== null) return null;
  try {
    return cronstrue.toString(FULL[cron.trim().toLowerCase()] ?? cron, OPTIONS);
  } catch {
    return null;
  }
}

/** Why an expression is invalid; null if it is valid. The server checks the rarer forms. */
export function cronFault(cron: string): string | null {
  const text = cron.trim();
  if (text.startsWith('@')) {
    return text.toLowerCase() in FULL
      ? null
      : fill(WORDS.unknownWord, { word: text, known: Object.keys(FULL).join(', ') });
  }
  const fields = text === '' ? [] : text.split(/\s+/);
  if (fields.length !== 5) return fill(WORDS.fieldCount, { count: fields.length });
  for (const [place, field] of fields.entries()) {
    const [name = '', least = 0, most = 0] = FIELDS[place] ?? [];
    for (const part of field.split(',')) {
      const numbers = part.split('/', 1)[0]?.match(/\d+/g) ?? [];
      const outside = numbers.some((number) => Number(number) < least || Number(number) > most);
      if (outside || !PART.test(part)) return fill(WORDS.badField, { field: name, part, least, most });
    }
  }
  return null;
}
