import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findProcessSocket, openProcessSocket } from './process-socket.ts';

function dataFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-socket-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, name);
  mkdirSync(data);
  return data;
}

it('the socket for HTTP processes is in the data folder', async () => {
  const data = dataFolder('data');
  const { path } = await openProcessSocket(data);
  expect(path).toBe(join(data, 'http.sock'));
  expect(await findProcessSocket(data)).toBe(path);
});

it('the socket of a data folder with a long path is in a private folder with another name each time', async () => {
  const data = dataFolder('d'.repeat(120));
  const first = await openProcessSocket(data);
  expect(await findProcessSocket(data)).toBe(first.path);
  expect(statSync(dirname(first.path)).mode & 0o777).toBe(0o700);
  writeFileSync(first.path, '');
  // As after a crash.
  const second = await openProcessSocket(data);
  expect(second.path).not.toBe(first.path);
  expect(await findProcessSocket(data)).toBe(second.path);
  expect(existsSync(dirname(first.path))).toBe(false);
  await second.close();
  expect(existsSync(dirname(second.path))).toBe(false);
});
