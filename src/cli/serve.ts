import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import type { Command } from './command.ts';
import { SETTING_FLAGS } from './setting-flags.ts';
import { waitForStop } from './stop-signals.ts';

/** After this a stop no longer waits for what does not end. Supervisors commonly allow ten seconds. */
const STOP_DEADLINE_MS = 9500;

export const serve: Command = {
  name: 'serve',
  summary: 'run the server',
  flags: SETTING_FLAGS,
  async run(flags, terminal) {
    const { settings } = loadSettings({
      flags,
      environment: readEnvironment(),
      workingFolder: process.cwd(),
    });
    const log = createLogger({ level: settings.log.level, pretty: process.stderr.isTTY === true });
    exitOnTheUnforeseen(log);
    const stop = waitForStop(log);
    // Loaded only now: the other commands, and a refusal of settings, need none of it.
    const { openApp } = await import('../app.ts');
    const app = await openApp(settings, { log, clock: systemClock, random: systemRandom });
    terminal.out(`Tilewarden is ready at ${app.url}\n`);
    await stop;
    setTimeout(() => process.exit(0), STOP_DEADLINE_MS).unref();
    await app.close();
    log.info({}, 'stopped');
    return 0;
  },
};

/** A process in an unknown state does not go on serving; whoever supervises it starts a new one. */
function exitOnTheUnforeseen(log: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    log.error({ err: error, origin }, 'unforeseen failure, the server ends');
    process.exit(1);
  });
}
