import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { type Command, SETTING_FLAGS } from './command.ts';
import { exitOnTheUnforeseen, hardenProcess } from './harden-process.ts';
import { startTaskProcess } from './start-process.ts';
import { closeInTime, waitForStop } from './stop-signals.ts';

export const worker: Command = {
  name: 'worker',
  summary: 'perform tasks of the servers on the same PostgreSQL, and answer no HTTP',
  flags: SETTING_FLAGS,
  async run(flags, terminal) {
    hardenProcess();
    const input = { flags, environment: readEnvironment(), workingFolder: process.cwd() };
    const { settings, handover } = loadSettings(input);
    const log = createLogger({ level: settings.log.level, pretty: process.stderr.isTTY === true });
    exitOnTheUnforeseen(log);
    const stop = waitForStop(log);
    const { openWorkerApp } = await import('../app/open-worker-app.ts');
    const app = await openWorkerApp(settings, {
      log,
      clock: systemClock,
      random: systemRandom,
      forkWorker: () => startTaskProcess(handover),
    });
    terminal.out(`Tilewarden worker ${app.name} is ready\n`);
    await stop;
    await closeInTime(app, log);
    return 0;
  },
};
