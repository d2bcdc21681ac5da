import { checkConfig } from './check-config.ts';
import { httpProcess, taskProcess } from './child-processes.ts';
import { clear } from './clear.ts';
import type { Command } from './command.ts';
import { exportCommand } from './export.ts';
import { importCommand } from './import.ts';
import { migrateStoreCommand } from './migrate-store.ts';
import { quota } from './quota.ts';
import { rebuildIndexCommand } from './rebuild-index.ts';
import { reseed, seed, truncate } from './seed.ts';
import { serve } from './serve.ts';
import { tasks } from './tasks.ts';
import { token } from './token.ts';
import { usage } from './usage.ts';
import { user } from './user.ts';
import { worker } from './worker.ts';

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
