import type { Logger } from '../lib/logger.ts';

/** A process in an unknown state does not go on serving; whoever supervises it starts a new one. */
export function exitOnTheUnforeseen(log: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    log.error({ err: error, origin }, 'unforeseen failure, the server ends');
    process.exit(1);
  });
}
