/** Loaded before a server that runs with `--expose-gc`: SIGUSR2 collects garbage, so that memory can be compared. */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) process.on('SIGUSR2', () => globalThis.gc?.());
