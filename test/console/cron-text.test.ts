import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import { cronFault, cronText } from '../../web/src/cron-text.ts';

const SAID: readonly (readonly [cron: string, text: string])[] = [
  ['* * * * *', 'every minute'],
  ['*/15 * * * *', 'every 15 minutes'],
  ['*/1 * * * *', 'every minute'],
  ['*/2 8-18 * * MON-FRI', 'every 2 minutes from 08:00 to 18:59 every Monday to Friday'],
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

  it.each([
    ['0 22 * *', 'this has 4'],
    ['61 * * * *', 'minute “61” is invalid: use 0 to 59'],
    ['0 24 * * *', 'hour “24”'],
    ['0 0 0 * *', 'day of month “0” is invalid: use 1 to 31'],
    ['0 0 * 1,13 *', 'month “13”'],
    ['0 0 * * 1-9', 'day of week “1-9” is invalid: use 0 to 7'],
    ['0 0 * * mon-fri!', 'day of week'],
    ['*/0 * * * *', 'minute “*/0”'],
    ['@often', '“@often” is unknown'],
    ['', 'this has 0'],
  ])('says what is wrong with "%s"', (cron, text) => {
    expect(cronFault(cron)).toContain(text);
    expect(() => new Cron(cron, { mode: '5-part', paused: true })).toThrow();
  });

  it.each([...SAID.map(([cron]) => cron), '0 22 L * *', '10-50/5 8-17 * JAN-MAR MON#1', '0 0 15W * *'])(
    'lets "%s" be sent',
    (cron) => {
      expect(cronFault(cron)).toBeNull();
    },
  );
});
