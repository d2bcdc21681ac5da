// Waits for the end of a test run: the end of its standard input, which comes even if the run is killed. Then ends every
// process that the run has left, wherever it is, and removes the run's folders. Processes are found on Linux only.
//
//   node scripts/test-run-keeper.mjs RUN OWNER FOLDER…     the mark in the environment; the process that holds the pipe
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { argv } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

const [run, owner, ...folders] = argv.slice(2);
const INTERVAL_MS = 100;
/** How long processes may take to end in order: PostgreSQL removes its shared memory. */
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
 * A child of the owner is ended by the owner, unless that has been killed: it closes its pipes first, and only then gives its
 * children up.
 */
function isOfRun(pid) {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    return environment.includes(`TEST_RUN=${run}`) && (statusOf(pid).parent !== owner || isEnding(owner));
  } catch {
    return false;
  }
}

/** Or has ended. */
function isEnding(pid) {
  try {
    return (Number(statusOf(pid).flags) & EXITING) !== 0;
  } catch {
    return true;
  }
}

/** The name of the program, in parentheses, may hold anything; the rest follows. */
function statusOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '');
  const [_state, parent, _group, _session, _terminal, _foreground, flags] = fields.split(' ');
  return { parent, flags };
}
