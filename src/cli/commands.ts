import { token, user } from './account-command.ts';
import { checkConfig } from './check-config.ts';
import { httpProcess, taskProcess } from './child-processes.ts';
import type { Command } from './command.ts';
import { importCommand } from './import.ts';
import { exportCommand, migrateStoreCommand, rebuildIndexCommand } from './local-job.ts';
import { quota, usage } from './quota.ts';
import { clear, reseed, seed, truncate } from './seed.ts';
import { serve, worker } from './serve.ts';
import { tasks } from './tasks.ts';

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
  taskProcess,
  httpProcess,
];
