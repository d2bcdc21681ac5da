import { once } from 'node:events';

/**
 * The child process that `spawn` or `fork` returned, once its program runs. Rejects with the reason if the program cannot be
 * started; without a listener that `error` event would end this process.
 *
 *   const child = await started(spawn('nginx', args));
 */
export async function started(child) {
  // After its end, or if it never ran: the end is for the caller to notice.
  child.stdin?.on('error', () => {});
  await once(child, 'spawn');
  child.on('error', (error) => process.stderr.write(`Process ${child.pid}: ${error.message}\n`));
  return child;
}
