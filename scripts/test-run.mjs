// The setup of a vitest run and of a benchmark: gives the run an id and a temporary folder, and starts the keeper, which
// cleans up after it. Environment of all processes that the run starts:
//
//   TEST_RUN   the run's id, by which the keeper finds them
//   TMPDIR     the run's folder; for tests in memory if there is room, which takes a twentieth less processor time
//   TEST_OPEN_FOLDER   the same folder, or another if this process is root and only root can enter TMPDIR: for programs
//              that refuse to run as root
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { ensurePixels } from './pixels.mjs';
import { endWithNpm, started } from './steps.mjs';

const KEEPER = fileURLToPath(new URL('./test-run-keeper.mjs', import.meta.url));
/** Linux's file system in memory. */
const MEMORY_FILES = '/dev/shm';
const MIN_FREE_MEMORY_BYTES = 4 * 2 ** 30;
/** Folders that all users can enter on nearly all systems. */
const OPEN_FOLDERS = ['/tmp', '/var/tmp'];
const OTHERS_MAY_ENTER = 0o001;

/** For vitest. Tests start servers and threads from the build; the rest runs from the sources. */
export async function setup() {
  endWithNpm();
  await ensureBuilt();
  await ensurePixels();
  return openTestRun(hasRoomInMemory() ? MEMORY_FILES : tmpdir());
}

/** Returns a function that ends the run. A killed run is cleaned up too, because its end of the pipe closes. */
export async function openTestRun(parent) {
  const run = randomUUID();
  const folder = temporaryFolder(parent);
  const openParent = [parent, ...OPEN_FOLDERS].find(isOpen) ?? parent;
  const openFolder = openParent === parent ? folder : temporaryFolder(openParent);
  // In a process group of its own, so that Ctrl-C does not reach it.
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

/** Whether programs of the run can enter the folder. Only root starts some of them as another user. */
function isOpen(folder) {
  if (process.getuid?.() !== 0) return true;
  if (!existsSync(folder)) return false;
  const path = realpathSync(folder);
  return (statSync(path).mode & OTHERS_MAY_ENTER) !== 0 && (dirname(path) === path || isOpen(dirname(path)));
}

/** False if the user has set another folder by TMPDIR. */
function hasRoomInMemory() {
  if (process.env.TMPDIR || !existsSync(MEMORY_FILES)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FILES);
  return bavail * bsize >= MIN_FREE_MEMORY_BYTES;
}
