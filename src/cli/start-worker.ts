import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FlagValues } from './command.ts';
import { SETTING_FLAGS } from './setting-flags.ts';

/** Starts `tilewarden worker` with the settings this process was started with. */
export function startWorker(flags: FlagValues): ChildProcess {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const main = fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
  const args = SETTING_FLAGS.flatMap(({ name, placeholder }) => {
    const value = flags[name];
    if (value === undefined) return [];
    return [placeholder === null ? `--${name}` : `--${name}=${value}`];
  });
  return fork(main, ['worker', ...args], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
}
