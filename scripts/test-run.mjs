// What vitest does before a run, after building, and npm run bench before a benchmark: gives it a mark and a folder, and starts
// the keeper, which removes what is left of it.
//
//   TEST_RUN   in the environment of every process that the run starts; the keeper finds them by it
//   TMPDIR     the run's own folder; of tests in memory where there is room, which takes a twentieth less processor
//   TEST_OPEN_FOLDER   the same folder, or one elsewhere if this process is root and only root can enter TMPDIR: programs
//              that refuse to run as root have their files there
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { endWithNpm } from './end-with-npm.mjs';
import { ensurePixels } from './pixels.mjs';
import { started } from './started.mjs';

const KEEPER = fileURLToPath(new URL('./test-run-keeper.mjs', import.meta.url));
/** Where Linux keeps files in memory, and the bytes that must be free there. */
const [MEMORY_FILES, ROOM_FOR_TESTS] = ['/dev/shm', 4 * 2 ** 30];
/** Folders that all users can enter on most systems. */
const OPEN_FOLDERS = ['/tmp', '/var/tmp'];

/** Tests start servers and threads from the build, and run the rest from the sources. */
export async function setup() {
  endWithNpm();
  await ensureBuilt();
  await ensurePixels();
  return openTestRun(hasRoomInMemory() ? MEMORY_FILES : tmpdir());
}

/** Returns what ends the run in order. A run that is killed ends in the same way: its end of the pipe is closed then. */
export async function openTestRun(parent) {
  const run = randomUUID();
  const folder = temporaryFolder(parent);
  const openParent = [parent, ...OPEN_FOLDERS].find(isOpen) ?? parent;
  const openFolder = openParent === parent ? folder : temporaryFolder(openParent);
  // A group of its own: Ctrl-C does not reach it.
  const options = { detached: true, stdio: ['pipe', 'ignore', 'inherit'] };
  const args = [KEEPER, run, String(process.pid), folder, openFolder];
  const keeper = await started(spawn(process.execPath, args, options));
  const ended = once(keeper, 'exit');
  Object.assign(process.env, { TEST_RUN: run, TMPDIR: folder, TEST_OPEN_FOLDER: openFolder });
  return async () => {
    keeper.stdin.end();
    await ended;
  };
}

function temporaryFolder(parent) {
  const folder = mkdtempSync(join(parent, 'tilewarden-tests-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** Whether another user, as whom root starts a program, can enter it. Others start programs as themselves. */
function isOpen(folder) {
  if (process.getuid?.() !== 0) return true;
  if (!existsSync(folder)) return false;
  const path = realpathSync(folder);
  return (statSync(path).mode & 1) === 1 && (dirname(path) === path || isOpen(dirname(path)));
}

function hasRoomInMemory() {
  if (process.env.TMPDIR || !existsSync(MEMORY_FILES)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FILES);
  return bavail * bsize >= ROOM_FOR_TESTS;
}
