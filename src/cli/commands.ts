import { checkConfig } from './check-config.ts';
import type { Command } from './command.ts';
import { reseed, seed, truncate } from './seed.ts';
import { serve } from './serve.ts';
import { tasks } from './tasks.ts';
import { token } from './token.ts';
import { user } from './user.ts';
import { worker } from './worker.ts';

export const COMMANDS: readonly Command[] = [
  serve,
  seed,
  reseed,
  truncate,
  tasks,
  user,
  token,
  checkConfig,
  worker,
];
