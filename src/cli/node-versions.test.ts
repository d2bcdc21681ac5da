import { expect, it } from 'vitest';
import { endOfLifeNotice } from './serve.ts';

const on = (day: string) => Date.parse(`${day}T12:00:00Z`);

it('a version of Node.js is reported from the day after its last one with security fixes', () => {
  expect(endOfLifeNotice('20.20.2', on('2026-04-30'))).toBeNull();
  expect(endOfLifeNotice('20.20.2', on('2026-05-01'))).toBe(
    'Node.js 20.20.2 has had no security fixes since 2026-04-30; Node.js 26 is recommended',
  );
  expect(endOfLifeNotice('24.22.0', on('2028-04-30'))).toBeNull();
});

it('versions of Node.js without long-term support are reported, newer ones than the known are not', () => {
  expect(endOfLifeNotice('23.6.0', on('2026-11-16'))).toBe(
    'Node.js 23.6.0 gets no security fixes; Node.js 26 is recommended',
  );
  expect(endOfLifeNotice('27.0.0', on('2026-11-16'))).toBeNull();
});
