import type { Settings } from '../config/settings-schema.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';

/** For processes that work for others, before they load anything. See docs/decisions/0068. */
export function hardenProcess(): void {
  process.umask(PRIVATE_FILES);
  // Like --disable-proto=delete: a key `__proto__` in a request then has no effect.
  Reflect.deleteProperty(Object.prototype, '__proto__');
}

/** The data folder contains hashed passwords and tokens: only its owner and group may read it. */
export const PRIVATE_FILES = 0o027;

/** Logger of a child process of a server; `name` marks its lines. */
export function enterProcess({ log: { level }, data }: Pick<Settings, 'log' | 'data'>, name: string) {
  const log = createLogger(level);
  exitOnTheUnforeseen(log);
  moveTo(data);
  return { log: log.child({ [name]: process.pid }), clock: systemClock, random: systemRandom };
}

/** To the data folder: the folder of the start may be removed, and in a removed folder no thread starts. */
export function moveTo(folder: string): void {
  process.chdir(folder);
}

/** A process in an unknown state must not continue; its supervisor starts a new one. */
export function exitOnTheUnforeseen(log: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    log.error({ err: error, origin }, 'unexpected failure; the process exits');
    process.exit(1);
  });
}

/** Turns Ctrl-C into a signal for as long as it is open; a second one ends the process immediately. */
export function openInterruption(): { readonly signal: AbortSignal; close(): void } {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  return {
    signal: controller.signal,
    close: () => {
      for (const name of SIGNALS) process.off(name, interrupt);
    },
  };
}

/** A shell's exit code for a program ended by Ctrl-C. */
export const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
