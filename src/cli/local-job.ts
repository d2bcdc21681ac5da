import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import type { Terminal } from './command.ts';
import { INTERRUPTED, openInterruption } from './interruption.ts';

export interface JobTools extends Surroundings {
  readonly signal: AbortSignal;
}

/** Long work on the stores themselves, whether or not a server runs. Prints what `work` answers, or how to go on after Ctrl-C. */
export async function runLocalJob(
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
  again: string,
  work: (settings: Settings, tools: JobTools) => Promise<string>,
): Promise<number> {
  const { settings } = loadSettings({ flags, environment: readEnvironment(), workingFolder: process.cwd() });
  const log = createLogger({ level: 'warn', pretty: process.stderr.isTTY === true });
  const interruption = openInterruption();
  const { signal } = interruption;
  try {
    terminal.out(`${await work(settings, { log, clock: systemClock, signal })}\n`);
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.err(`Interrupted. Run the same command again ${again}.\n`);
    return INTERRUPTED;
  } finally {
    interruption.close();
  }
}
