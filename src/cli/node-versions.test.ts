import { expect, it } from 'vitest';
import { nodeNotice } from './serve.ts';

const on = (day: string) => Date.parse(`${day}T12:00:00Z`);

it('a version of Node.js is reported from the day after its last one with security fixes', () => {
  expect(nodeNotice('20.20.2', on('2026-04-30'))).toBeNull();
  expect(nodeNotice('20.20.2', on('2026-05-01'))).toBe(
    'Node.js 20.20.2 has had no security fixes since 2026-04-30; Node.js 26 is recommended',
  );
  expect(nodeNotice('24.22.0', on('2028-04-30'))).toBeNull();
});

it('versions of Node.js without long-term support are reported, newer ones than the known are not', () => {
  expect(nodeNotice('23.6.0', on('2026-11-16'))).toBe(
    'Node.js 23.6.0 gets no security fixes; Node.js 26 is recommended',
  );
  expect(nodeNotice('27.0.0', on('2026-11-16'))).toBeNull();
});

it('versions of Node.js that abort when objects of SQLite are collected are reported', () => {
  const notice = (version: string) => nodeNotice(version, on('2026-11-16'));
  expect(notice('24.21.0')).toBe(
    'Node.js 24.21.0 can abort the server (nodejs/node#65446); use 24.22 or later, or 26',
  );
  expect([notice('24.18.1'), notice('24.22.0')]).toEqual([null, null]);
});
