import { once } from 'node:events';

/**
 * Resolves to the child process of `spawn` or `fork` once its program runs. Rejects if the program cannot be started:
 * an `error` event without a listener would end this process.
 *
 *   const child = await started(spawn('nginx', args));
 */
export async function started(child) {
  // A write to a child that has ended, or never ran, emits `error` here. Callers detect the end by `exit`.
  child.stdin?.on('error', () => {});
  await once(child, 'spawn');
  child.on('error', (error) => process.stderr.write(`Process ${child.pid}: ${error.message}\n`));
  return child;
}
