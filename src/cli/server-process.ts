import { openServerApp } from '../app/supervise.ts';
import { settingsInput } from '../config/environment.ts';
import { servingSettingsFrom } from '../config/load-settings.ts';
import type { Channel } from '../lib/channel.ts';
import type { ServerStart } from './child-processes.ts';
import { enterProcess } from './process-setup.ts';

/** One of several processes that answer. */
export async function openServerProcess(start: ServerStart, parent: Channel) {
  const { handover, adminPassword, configFile, port, first, flags, startedIn } = start;
  const { server, access, ...rest } = servingSettingsFrom(handover);
  const settings = { ...rest, server: { ...server, port }, access: { ...access, adminPassword } };
  const file = { input: settingsInput(flags, startedIn), current: { settings, handover, configFile } };
  return openServerApp(settings, { ...enterProcess(settings, 'process'), file }, parent, first);
}
