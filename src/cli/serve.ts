import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { readSettingsFile } from '../config/settings-file.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { type Command, SETTING_FLAGS, type Terminal } from './command.ts';
import { exitOnTheUnforeseen, hardenProcess } from './harden-process.ts';
import { startHttpProcess, startTaskProcess } from './start-process.ts';
import { closeInTime, waitForStop } from './stop-signals.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'run the server',
  flags: SETTING_FLAGS,
  async run(flags, terminal) {
    hardenProcess();
    const load = () => loadSettings({ flags, environment: readEnvironment(), workingFolder: process.cwd() });
    const file = readSettingsFile(load);
    const { settings } = file.current;
    const log = createLogger({ level: settings.log.level, pretty: process.stderr.isTTY === true });
    exitOnTheUnforeseen(log);
    const stop = waitForStop(log);
    // Loaded only now: the other commands, and a refusal of settings, need none of it.
    const { openServer } = await import('../app/open-server.ts');
    const server = await openServer(settings, {
      log,
      clock: systemClock,
      random: systemRandom,
      forkWorker: () => startTaskProcess(file.current.handover),
      forkHttpProcess: (port) => startHttpProcess(file.current.handover, port),
      file,
    });
    if (server.initialPassword) showInitialPassword(server.initialPassword, terminal, log);
    if (outlivesTerminal(settings)) process.on('SIGHUP', () => void reload(() => server.takeUp(load()), log));
    terminal.out(`Tilewarden is ready at ${server.url}\n`);
    await stop;
    await closeInTime(server, log);
    return 0;
  },
};

/** SIGHUP also says that a terminal has been closed: whoever started a plain server in it wants it to end then. */
function outlivesTerminal({ server: { tls, processes } }: Settings): boolean {
  return process.stdin.isTTY !== true || tls !== null || processes > 1;
}

/** On a terminal somebody is looking; a log is kept and read by others, so it learns only where the password is. */
function showInitialPassword(
  { password, file }: { readonly password: string; readonly file: string },
  terminal: Terminal,
  log: Logger,
): void {
  log.info({ file }, 'the password of the user admin was made up; it is in this file until it is changed');
  if (process.stderr.isTTY !== true) return;
  terminal.err(`\n  User admin, password ${password}\n  It is also in ${file} until it is changed.\n\n`);
}

async function reload(takeUp: () => Promise<readonly string[]>, log: Logger): Promise<void> {
  try {
    const restart = await takeUp();
    log.info({}, 'settings reloaded');
    if (restart.length > 0) log.warn({ settings: restart }, 'these settings take effect with a restart only');
  } catch (error) {
    log.error({ err: error }, 'settings cannot be used; nothing has changed');
  }
}
