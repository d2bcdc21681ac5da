import { openServerApp } from '../app/supervise.ts';
import { readSettingsFile, servingSettingsFrom } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import type { ServerStart } from './child-processes.ts';
import { settingsFor } from './command.ts';
import { exitOnTheUnforeseen, moveTo } from './process-setup.ts';

/** One of several processes that answer. */
export async function openServerProcess(start: ServerStart) {
  const { handover, adminPassword, configFile, port, first, flags, startedIn } = start;
  const { server, access, ...rest } = servingSettingsFrom(handover);
  const settings = { ...rest, server: { ...server, port }, access: { ...access, adminPassword } };
  const log = createLogger(settings.log.level);
  exitOnTheUnforeseen(log);
  moveTo(settings.data);
  const loaded = { settings, handover, configFile, shown: null, warnings: [] };
  const file = readSettingsFile(() => settingsFor(flags, startedIn), loaded);
  const env = {
    log: log.child({ process: process.pid }),
    clock: systemClock,
    random: systemRandom,
    file,
  };
  return openServerApp(settings, env, process, first);
}
