import { type MessagePort, parentPort } from 'node:worker_threads';
import { deriveKey } from './password-hash.ts';
import type { DerivationJob, DerivationResult } from './password-hasher.ts';

function serve(port: MessagePort): void {
  port.on('message', ({ password, salt, cost }: DerivationJob) => {
    const key: DerivationResult = deriveKey(password, salt, cost);
    port.postMessage(key);
  });
}

if (parentPort) serve(parentPort);
