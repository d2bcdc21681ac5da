import { describeSettings } from '../config/load-settings.ts';
import { token, user } from './account-command.ts';
import { changesSqlCommand } from './changes-sql.ts';
import { type Command, DATA_FLAGS, flag, settingsFor } from './command.ts';
import { importCommand } from './import.ts';
import { layers } from './layers.ts';
import { backupCommand, exportCommand, migrateStoreCommand, rebuildIndexCommand } from './local-job.ts';
import { quota, usage } from './quota.ts';
import { schedules } from './schedules.ts';
import { clear, reseed, seed, truncate } from './seed.ts';
import { serve, worker } from './serve.ts';
import { tasks } from './tasks.ts';

const checkConfig: Command = {
  name: 'check-config',
  summary: 'check the settings and print what is in effect, secrets masked',
  flags: [...DATA_FLAGS, flag('all', null, 'print long lists whole: the first 10 layers otherwise')],
  async run(flags, terminal) {
    const loaded = settingsFor(flags);
    terminal.out(describeSettings(loaded, flags.all !== undefined));
    for (const warning of loaded.warnings) terminal.err(`warning: ${warning}\n`);
    return 0;
  },
};

export const COMMANDS: readonly Command[] = [
  serve,
  worker,
  layers,
  seed,
  reseed,
  truncate,
  tasks,
  schedules,
  clear,
  usage,
  quota,
  exportCommand,
  migrateStoreCommand,
  rebuildIndexCommand,
  backupCommand,
  importCommand,
  changesSqlCommand,
  user,
  token,
  checkConfig,
];
