import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, StepError } from './steps.mjs';

/** Stay from one run to the next. */
const KEPT = ['node_modules', 'dist', '.build'];

/** With changes that are not committed. Deleted files are removed from the copy too. */
export function copyCheckout(checkout) {
  mkdirSync(checkout, { recursive: true });
  for (const name of readdirSync(checkout)) {
    if (!KEPT.includes(name)) rmSync(join(checkout, name), { recursive: true });
  }
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  for (const file of outputOf('git', list).split('\0').slice(0, -1)) {
    // A file that has been deleted is listed until the deletion is committed.
    if (existsSync(join(root, file))) cpSync(join(root, file), join(checkout, file));
  }
}

export function outputOf(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new StepError(`${program} failed: ${error?.message ?? stderr}`);
  return stdout;
}
