import { randomUUID } from 'node:crypto';
import type { SettingsFile } from '../config/load-settings.ts';
import { databaseOf } from '../config/node-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { DatabaseOptions } from '../db/database.ts';
import { openDatabase } from '../db/open-database.ts';
import { ProcessFeed } from '../db/process-feed.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';

/** The outside world of a node, which tests replace. */
export interface NodeEnv extends Env {
  readonly random: Random;
  /** Where the settings came from; without it they cannot be reloaded. */
  readonly file?: SettingsFile;
}

export type ProcessParts = Awaited<ReturnType<typeof openProcess>>;

interface ProcessOptions extends Omit<DatabaseOptions, 'location' | keyof Env> {
  /** Ends a process of the server that does not respond; null: there is no other process, not even a worker. */
  readonly onSilent: ((pid: number) => void) | null;
  /** Whether several processes answer requests; otherwise the other processes, if any, are workers. */
  readonly several: boolean;
}

/** Dependencies of every part of a process. `open` closes the parts in reverse order, also when a later one cannot be opened. */
export async function openProcess(
  settings: Settings,
  env: NodeEnv,
  { onSilent, several, ...options }: ProcessOptions,
  open: ClosingStack,
) {
  const { clock, random, log, file } = env;
  const { data } = settings;
  /** Identifies this process, e.g. as the holder of leases. */
  const instance = randomUUID();
  /** Null: the server has no other process. */
  const feed = onSilent && open.use(new ProcessFeed({ data, instance, onSilent, clock, log }));
  const location = databaseOf(settings);
  const database = open.use(await openDatabase({ location, feed, clock, log, ...options }));
  return { clock, random, log, ...(file && { file }), settings, open, instance, feed, several, database };
}
