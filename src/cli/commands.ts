import { checkConfig } from './check-config.ts';
import type { Command } from './command.ts';
import { serve } from './serve.ts';
import { worker } from './worker.ts';

export const COMMANDS: readonly Command[] = [serve, checkConfig, worker];
