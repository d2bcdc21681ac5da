import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread of ours. `from` is the caller's `import.meta.url`, `name` the thread's file beside it without
 * an extension: it has the caller's own, `.js` in a build and `.ts` when the sources run as they are.
 */
export function spawnThread(from: string, name: string, options: WorkerOptions = {}): Worker {
  return new Worker(threadUrl(from, name), options);
}

export function threadUrl(from: string, name: string): URL {
  const extension = from.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${extension}`, from);
}
