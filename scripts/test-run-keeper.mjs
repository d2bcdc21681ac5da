// Waits for the end of a test run: its standard input closes even if the run is killed. Then ends every process that the
// run left behind and removes the run's folders. Processes are found on Linux only.
//
//   node scripts/test-run-keeper.mjs RUN OWNER FOLDER…     RUN: TEST_RUN of its processes; OWNER: the pid that holds the pipe
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { argv } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

const [run, owner, ...folders] = argv.slice(2);
const INTERVAL_MS = 100;
/** Time for processes to end by themselves, as PostgreSQL must to remove its shared memory. */
const GRACE_MS = 3000;
/** PF_EXITING in the flags of a Linux process. */
const EXITING = 0x4;

for await (const _ of process.stdin);
await endProcesses();
for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });

async function endProcesses() {
  const begun = performance.now();
  for (let left = processes(); left.length > 0; left = processes()) {
    const signal = performance.now() - begun < GRACE_MS ? 'SIGINT' : 'SIGKILL';
    for (const pid of left) end(pid, signal);
    await delay(INTERVAL_MS);
  }
}

function end(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in the meantime.
  }
}

function processes() {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOfRun(name))
    .map(Number);
}

/**
 * Whether this script has to end a process. The owner ends its own children, unless it was killed; it is then still their
 * parent for a moment after its pipes have closed.
 */
function isOfRun(pid) {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    return environment.includes(`TEST_RUN=${run}`) && (statusOf(pid).parent !== owner || isEnding(owner));
  } catch {
    return false;
  }
}

/** Whether a process is ending, or has ended. */
function isEnding(pid) {
  try {
    return (Number(statusOf(pid).flags) & EXITING) !== 0;
  } catch {
    return true;
  }
}

/** Fields of /proc/PID/stat behind the program's name, which is in parentheses and may contain any character. */
function statusOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '');
  const [_state, parent, _group, _session, _terminal, _foreground, flags] = fields.split(' ');
  return { parent, flags };
}
