import { token, user } from './account-command.ts';
import { type Command, DATA_FLAGS, flag, misuse, settingsFor } from './command.ts';
import { importCommand } from './import.ts';
import { layers } from './layers.ts';
import { backupCommand, exportCommand, migrateStoreCommand, rebuildIndexCommand } from './local-job.ts';
import { quota, usage } from './quota.ts';
import { clear, reseed, seed, truncate } from './seed.ts';
import { serve, worker } from './serve.ts';
import { schedules, tasks } from './tasks.ts';

const checkConfig: Command = {
  name: 'check-config',
  summary: 'check the settings and print what is in effect, secrets masked',
  flags: [...DATA_FLAGS, flag('all', null, 'print long lists whole: the first 10 layers otherwise')],
  async run(flags, terminal) {
    const { describeSettings } = await import('../config/load-settings.ts');
    const loaded = await settingsFor(flags);
    terminal.out(describeSettings(loaded, flags.all !== undefined));
    for (const warning of loaded.warnings) terminal.err(`warning: ${warning}\n`);
    return 0;
  },
};

const changesSqlCommand: Command = {
  name: 'changes-sql',
  summary: 'print a table of changes and PostGIS triggers that fill it, for a feed of type postgres',
  flags: [
    flag('source', 'TABLE', 'the table whose edits are reported, e.g. public.parcels'),
    flag('geometry', 'COLUMN', 'its geometry column (geom)'),
    flag('table', 'TABLE', 'the table of changes (public.tile_changes)'),
    flag('layer', 'NAME', 'the layer that the data belong to; all layers of the feed when absent'),
  ],
  async run({ source, geometry = 'geom', table = 'public.tile_changes', layer = null }, terminal) {
    if (source === undefined) throw misuse('--source is required: the table whose edits are reported.');
    const { changesSql } = await import('../app/offline.ts');
    terminal.out(changesSql({ source, geometry, table, layer }));
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
