// What vitest does before a run, and npm run bench before a benchmark: gives it a mark and a folder, and starts the keeper,
// which removes what is left of it.
//
//   TEST_RUN   in the environment of every process that the run starts; the keeper finds them by it
//   TMPDIR     the run's own folder; of tests in memory where there is room, which takes a twentieth less processor
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithNpm } from './end-with-npm.mjs';

const KEEPER = fileURLToPath(new URL('./test-run-keeper.mjs', import.meta.url));
/** Where Linux keeps files in memory, and the bytes that must be free there. */
const [MEMORY_FILES, ROOM_FOR_TESTS] = ['/dev/shm', 4 * 2 ** 30];

export function setup() {
  endWithNpm();
  return openTestRun(hasRoomInMemory() ? MEMORY_FILES : tmpdir());
}

/** Returns what ends the run in order. A run that is killed ends in the same way: its end of the pipe is closed then. */
export function openTestRun(parent) {
  const run = randomUUID();
  const folder = temporaryFolder(parent);
  // A group of its own: Ctrl-C does not reach it.
  const options = { detached: true, stdio: ['pipe', 'ignore', 'inherit'] };
  const keeper = spawn(process.execPath, [KEEPER, run, folder, String(process.pid)], options);
  const ended = once(keeper, 'exit');
  Object.assign(process.env, { TEST_RUN: run, TMPDIR: folder });
  return async () => {
    keeper.stdin.end();
    await ended;
  };
}

function temporaryFolder(parent) {
  const folder = mkdtempSync(join(parent, 'tilewarden-tests-'));
  // PostgreSQL does not run as root, and its user must reach its files.
  chmodSync(folder, 0o755);
  return folder;
}

function hasRoomInMemory() {
  if (process.env.TMPDIR || !existsSync(MEMORY_FILES)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FILES);
  return bavail * bsize >= ROOM_FOR_TESTS;
}
