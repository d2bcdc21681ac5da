import type { Logger } from '../lib/logger.ts';

/** npm passes Ctrl-C on to a process that has had it from the terminal already: within this it is one signal. */
const SAME_SIGNAL_MS = 500;

/** After this a stop no longer waits for what does not end. Supervisors commonly allow ten seconds. */
const STOP_DEADLINE_MS = 9500;

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process on the spot. */
export function waitForStop(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    let stoppingSince: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      if (stoppingSince === null) {
        stoppingSince = performance.now();
        log.info({ signal }, 'stopping; once more ends it at once');
        resolve();
        return;
      }
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

export async function closeInTime(app: { close(): Promise<void> }, log: Logger): Promise<void> {
  setTimeout(() => process.exit(0), STOP_DEADLINE_MS).unref();
  await app.close();
  log.info({}, 'stopped');
}
