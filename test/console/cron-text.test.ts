import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import { cronFault, cronText } from '../../web/src/cron-text.ts';

const SAID: readonly (readonly [cron: string, text: string])[] = [
  ['* * * * *', 'Every minute, every hour, every day'],
  ['*/15 * * * *', 'Every 15 minutes, every hour, every day'],
  ['*/2 8-18 * * MON-FRI', 'Every 2 minutes, between 08:00 and 18:59, Monday through Friday'],
  ['5 * * * *', 'At 5 minutes past the hour, every hour, every day'],
  ['0 */6 * * *', 'On the hour, every 6 hours, every day'],
  ['0 22 * * *', 'At 22:00, every day'],
  ['30 1,13 * * *', 'At 01:30 and 13:30, every day'],
  ['0 22 * * 1-5', 'At 22:00, Monday through Friday'],
  ['0 3 * * SUN', 'At 03:00, only on Sunday'],
  ['0 3 * * 7', 'At 03:00, only on Sunday'],
  ['0 4 1,15 * *', 'At 04:00, on day 1 and 15 of the month'],
  ['0 4 1 1 *', 'At 04:00, on day 1 of the month, only in January'],
  ['0 4 1 * 1', 'At 04:00, on day 1 of the month, and on Monday'],
  ['0 22 L * *', 'At 22:00, on the last day of the month'],
  ['0 8-17 * * *', 'Every hour, between 08:00 and 17:00, every day'],
  ['@daily', 'At 00:00, every day'],
  ['@weekly', 'At 00:00, only on Sunday'],
];

describe('a cron expression in words', () => {
  it.each(SAID)('the cron expression %s reads %s', (cron, text) => {
    expect(cronText(cron)).toBe(text);
    expect(() => new Cron(cron, { mode: '5-part', paused: true })).not.toThrow();
  });

  it.each(['0 22 * *', '? * * * *', 'tomorrow', ''])(
    'the invalid cron expression "%s" has no description',
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
  ])('the fault of the cron expression "%s" is named', (cron, text) => {
    expect(cronFault(cron)).toContain(text);
    expect(() => new Cron(cron, { mode: '5-part', paused: true })).toThrow();
  });

  it.each([...SAID.map(([cron]) => cron), '10-50/5 8-17 * JAN-MAR MON#1', '0 0 15W * *'])(
    'the cron expression "%s" has no fault',
    (cron) => {
      expect(cronFault(cron)).toBeNull();
    },
  );
});
