import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import { cronText, looksLikeCron } from '../../web/src/cron-text.ts';

const SAID: readonly (readonly [cron: string, text: string])[] = [
  ['* * * * *', 'every minute'],
  ['*/15 * * * *', 'every 15 minutes'],
  ['5 * * * *', 'every hour at :05'],
  ['0 */6 * * *', 'every 6 hours at :00'],
  ['0 22 * * *', 'every day at 22:00'],
  ['30 1,13 * * *', 'every day at 01:30 and 13:30'],
  ['0 22 * * 1-5', 'every Monday to Friday at 22:00'],
  ['0 3 * * SUN', 'every Sunday at 03:00'],
  ['0 3 * * 7', 'every Sunday at 03:00'],
  ['0 4 1,15 * *', 'on day 1 and 15 of the month at 04:00'],
  ['0 4 1 1 *', 'on day 1 of the month at 04:00 in January'],
  ['0 4 1 * 1', 'on day 1 of the month and every Monday at 04:00'],
  ['@daily', 'every day at 00:00'],
  ['@weekly', 'every Sunday at 00:00'],
];

describe('a cron expression in words', () => {
  it.each(SAID)('%s is %s', (cron, text) => {
    expect(cronText(cron)).toBe(text);
    expect(() => new Cron(cron, { mode: '5-part', paused: true })).not.toThrow();
  });

  it.each(['0 22 L * *', '0-30 22 * * *', '0 8-17 * * *', '0 22 * *', 'tomorrow', ''])(
    'says nothing rather than something wrong about "%s"',
    (cron) => {
      expect(cronText(cron)).toBeNull();
    },
  );

  it('knows the shape of one', () => {
    expect(looksLikeCron('0 22 * * *')).toBe(true);
    expect(looksLikeCron('@hourly')).toBe(true);
    expect(looksLikeCron('22:00')).toBe(false);
  });
});
