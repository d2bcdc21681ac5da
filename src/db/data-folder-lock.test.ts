import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { openDataFolderLock } from './data-folder-lock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-lock-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('the lock of a data folder has one holder at a time', () => {
  const first = openDataFolderLock(folder);
  expect(first).not.toBeNull();
  expect(openDataFolderLock(folder)).toBeNull();
  first?.close();
  const second = openDataFolderLock(folder);
  expect(second).not.toBeNull();
  second?.close();
});

it('the lock of a data folder is free again when its holder was killed', async () => {
  const sqlite = fileURLToPath(import.meta.resolve('better-sqlite3'));
  const program = `const db = new (require(${JSON.stringify(sqlite)}))(${JSON.stringify(join(folder, 'lock.db'))});
     db.exec('begin exclusive'); console.log('held'); setInterval(() => {}, 1000);`;
  const holder = await started(spawn(process.execPath, ['-e', program]));
  await once(holder.stdout, 'data');
  expect(openDataFolderLock(folder)).toBeNull();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = openDataFolderLock(folder);
  expect(lock).not.toBeNull();
  lock?.close();
});
