import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { errorCopier } from '../domain/error-copier.ts';
import { createChannel } from '../lib/channel.ts';
import { threadPort } from '../lib/open-thread.ts';
import { deriveKey } from './password-hash.ts';
import { DERIVE_KEY } from './password-hasher.ts';

const port = parentPort;
if (!port) throw new Error('This file is a thread of the access room.');

/** After whatever answers, before whatever seeds. */
const NICENESS = 3;

// setpriority(2): on Linux, and only there, a process of number 0 is the thread that calls.
if (process.platform === 'linux') setPriority(0, NICENESS);
createChannel(threadPort(port), errorCopier).handle(DERIVE_KEY, ({ password, salt, cost }) =>
  deriveKey(password, salt, cost),
);
