import { expect, it } from 'vitest';
import { mostConnections, openFilesLimit } from './limits.ts';

it.each([
  [256, 128],
  [1024, 704],
  [65_536, 10_000],
  [32, 32],
  [null, 10_000],
])('of %s open files, connections get at most %s', (openFiles, connections) => {
  expect(mostConnections(10_000, openFiles)).toBe(connections);
});

it.runIf(process.platform === 'linux')('the limit of open files is read from the system', () => {
  expect(openFilesLimit()).toBeGreaterThan(0);
});
