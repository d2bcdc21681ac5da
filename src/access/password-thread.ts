import { setPriority } from 'node:os';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { deriveKey } from './password-hash.ts';
import type { DerivationJob, DerivationResult } from './password-hasher.ts';

/** Linux gives each thread its own niceness: whoever logs in gives way to whoever looks at a map. */
const NICENESS = 5;

function serve(port: MessagePort): void {
  if (process.platform === 'linux') setPriority(NICENESS);
  port.on('message', ({ password, salt, cost }: DerivationJob) => {
    const key: DerivationResult = deriveKey(password, salt, cost);
    port.postMessage(key);
  });
}

if (parentPort) serve(parentPort);
