import { setPriority } from 'node:os';
import { errorCopier } from '../domain/error-copier.ts';
import { channelToParent } from '../lib/open-thread.ts';
import { DERIVE_KEY, deriveKey } from './password-hasher.ts';

/** Below the server, above task processes. */
const NICENESS = 3;

// setpriority(2): on Linux, and only there, a process of number 0 is the thread that calls.
if (process.platform === 'linux') setPriority(0, NICENESS);
channelToParent(errorCopier).handle(DERIVE_KEY, ({ password, salt, cost }) =>
  deriveKey(password, salt, cost),
);
