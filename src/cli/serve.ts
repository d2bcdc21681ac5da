import type { NodeEnv } from '../app/open-process.ts';
import type { App } from '../app.ts';
import { settingsInput } from '../config/environment.ts';
import type { SettingsFile } from '../config/load-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { startServerProcess, startWorkProcess } from './child-processes.ts';
import { type Command, SETTING_FLAGS, settingFlags, settingsFor, type Terminal } from './command.ts';
import { exitOnTheUnforeseen, hardenProcess, moveTo } from './process-setup.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'run the server',
  flags: SETTING_FLAGS,
  async run(flags, terminal) {
    hardenProcess();
    const input = settingsInput(flags);
    const file: SettingsFile = { input, current: await settingsFor(flags) };
    const { settings } = file.current;
    const { adminPassword } = settings.access;
    return runUntilStopped(settings, async (env) => {
      // Loaded only now: the other commands, and a refusal of settings, need none of it.
      const { openServer } = await import('../app/supervise.ts');
      const server = await openServer(settings, {
        ...env,
        file,
        forkWorker: () => startWorkProcess({ handover: file.current.handover }),
        forkServer(port, first) {
          const { handover, configFile } = file.current;
          const { flags, workingFolder: startedIn } = input;
          return startServerProcess({ handover, configFile, adminPassword, port, first, flags, startedIn });
        },
      });
      moveTo(settings.data);
      if (server.initialPassword) showInitialPassword(server.initialPassword, terminal);
      if (outlivesTerminal(settings)) process.on('SIGHUP', () => void reload(server, env.log));
      terminal.out(`Tilewarden is ready at ${server.url}\n`);
      return server;
    });
  },
};

async function runUntilStopped(
  settings: Settings,
  open: (env: NodeEnv) => Promise<{ close(): Promise<void> }>,
): Promise<number> {
  const log = createLogger(settings.log.level);
  exitOnTheUnforeseen(log);
  const notice = nodeNotice(process.versions.node, systemClock.now());
  if (notice !== null) log.info({}, notice);
  const stop = waitForStop(log);
  const app = await open({ log, clock: systemClock, random: systemRandom });
  await stop;
  await closeInTime(app, log);
  return 0;
}

/** SIGHUP also means that the terminal was closed: a plain server that was started in it ends then. */
function outlivesTerminal({ server: { tls, processes, accessLog } }: Settings): boolean {
  return process.stdin.isTTY !== true || tls !== null || processes !== 1 || accessLog.file !== null;
}

/** The password itself only on a terminal: logs are kept, and others read them. There it is one plain line. */
function showInitialPassword(
  { password, file }: { readonly password: string; readonly file: string },
  terminal: Terminal,
): void {
  if (process.stderr.isTTY === true) {
    terminal.err(`\n  User admin, password ${password}\n  It is also in ${file} until it is changed.\n\n`);
    return;
  }
  terminal.out(`First sign-in: user admin; the password is in ${file} until it is changed\n`);
}

async function reload(server: Pick<App, 'reload'>, log: Logger): Promise<void> {
  try {
    const restart = await server.reload();
    log.info({}, 'settings reloaded');
    if (restart.length > 0) log.warn({ settings: restart }, 'these settings need a restart');
  } catch (error) {
    log.error({ err: error }, 'settings cannot be used; nothing has changed');
  }
}

export const worker: Command = {
  name: 'worker',
  summary: 'perform tasks of the servers on the same PostgreSQL, and answer no HTTP',
  flags: settingFlags('config', 'data', 'database', 'node', 'log-level'),
  async run(flags, terminal) {
    hardenProcess();
    const { settings, handover } = await settingsFor(flags);
    return runUntilStopped(settings, async (env) => {
      const { openWorkerApp } = await import('../app/open-worker.ts');
      const forkWorker = () => startWorkProcess({ handover });
      const app = await openWorkerApp(settings, { ...env, forkWorker });
      moveTo(settings.data);
      terminal.out(`Tilewarden worker ${app.name} is ready\n`);
      return app;
    });
  },
};

/** npm passes Ctrl-C on to a process that has received it from the terminal already: within this time they count as one. */
const SAME_SIGNAL_MS = 500;

/** After this a stop no longer waits. Supervisors commonly allow ten seconds. */
const STOP_DEADLINE_MS = 9500;

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process immediately. */
function waitForStop(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    let stoppingSince: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      if (stoppingSince === null) {
        stoppingSince = performance.now();
        log.info({ signal }, 'stopping; a second signal ends it immediately');
        resolve();
        return;
      }
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

async function closeInTime(app: { close(): Promise<void> }, log: Logger): Promise<void> {
  setTimeout(() => process.exit(0), STOP_DEADLINE_MS).unref();
  await app.close();
  log.info({}, 'stopped');
}

/** The last day with security fixes, by major version of Node.js. Other versions up to the newest here are over. */
const END_OF_LIFE: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  22: '2027-04-30',
  24: '2028-04-30',
  26: '2029-04-30',
};
const DAY_MS = 86_400_000;
const NEWEST = Math.max(...Object.keys(END_OF_LIFE).map(Number));

/** Its addons abort the process when their objects are collected outside JavaScript: nodejs/node#65446. */
const ABORTING = /^24\.(19|20|21)\./;

/** Null for a version that still gets security fixes, and for one that is newer than the table. */
export function nodeNotice(version: string, now: number): string | null {
  if (ABORTING.test(version))
    return `Node.js ${version} can abort the server (nodejs/node#65446); use 24.22 or later, or ${NEWEST}`;
  const major = Number.parseInt(version, 10);
  const lastDay = END_OF_LIFE[major] ?? null;
  if (major > NEWEST || (lastDay !== null && now < Date.parse(lastDay) + DAY_MS)) return null;
  const since = lastDay === null ? 'gets no security fixes' : `has had no security fixes since ${lastDay}`;
  return `Node.js ${version} ${since}; Node.js ${NEWEST} is recommended`;
}
