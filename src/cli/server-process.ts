import { openServerApp } from '../app/supervise.ts';
import { readSettingsFile, servingSettingsFrom } from '../config/load-settings.ts';
import type { Channel } from '../lib/channel.ts';
import type { ServerStart } from './child-processes.ts';
import { enterProcess } from './process-setup.ts';
import { settingsFor } from './settings-for.ts';

/** One of several processes that answer. */
export async function openServerProcess(start: ServerStart, parent: Channel) {
  const { handover, adminPassword, configFile, port, first, flags, startedIn } = start;
  const { server, access, ...rest } = servingSettingsFrom(handover);
  const settings = { ...rest, server: { ...server, port }, access: { ...access, adminPassword } };
  const loaded = { settings, handover, configFile, shown: null, warnings: [] };
  const file = readSettingsFile((measure) => settingsFor(flags, startedIn, measure), loaded);
  return openServerApp(settings, { ...enterProcess(settings, 'process'), file }, parent, first);
}
