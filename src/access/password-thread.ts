import { setPriority } from 'node:os';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { deriveKey } from './password-hash.ts';
import type { DerivationJob, DerivationResult } from './password-hasher.ts';

/** After whatever answers, before whatever seeds. */
const NICENESS = 3;

function serve(port: MessagePort): void {
  port.on('message', ({ password, salt, cost }: DerivationJob) => {
    const key: DerivationResult = deriveKey(password, salt, cost);
    port.postMessage(key);
  });
}

/** setpriority(2): on Linux, and only there, a process of number 0 is the thread that calls. */
function stepBack(): void {
  if (process.platform === 'linux') setPriority(0, NICENESS);
}

if (parentPort) {
  stepBack();
  serve(parentPort);
}
