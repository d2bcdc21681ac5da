import { describeSettings } from '../config/load-settings.ts';
import { token, user } from './account-command.ts';
import { type Command, SETTING_FLAGS, settingsFor } from './command.ts';
import { importCommand } from './import.ts';
import { exportCommand, migrateStoreCommand, rebuildIndexCommand } from './local-job.ts';
import { quota, usage } from './quota.ts';
import { clear, reseed, seed, truncate } from './seed.ts';
import { serve, worker } from './serve.ts';
import { tasks } from './tasks.ts';

const checkConfig: Command = {
  name: 'check-config',
  summary: 'check the settings and print what is in effect, secrets masked',
  flags: SETTING_FLAGS,
  async run(flags, terminal) {
    terminal.out(describeSettings(settingsFor(flags)));
    return 0;
  },
};

export const COMMANDS: readonly Command[] = [
  serve,
  worker,
  seed,
  reseed,
  truncate,
  tasks,
  clear,
  usage,
  quota,
  exportCommand,
  migrateStoreCommand,
  rebuildIndexCommand,
  importCommand,
  user,
  token,
  checkConfig,
];
