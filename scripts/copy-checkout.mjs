import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, StepError } from './steps.mjs';

/** Folders of the copy that are reused by the next run. */
const KEPT = ['node_modules', 'dist', '.build'];

/** Copies the working tree, uncommitted changes included. Files deleted here are removed from the copy. */
export function copyCheckout(checkout) {
  mkdirSync(checkout, { recursive: true });
  for (const name of readdirSync(checkout)) {
    if (!KEPT.includes(name)) rmSync(join(checkout, name), { recursive: true });
  }
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  for (const file of outputOf('git', list).split('\0').slice(0, -1)) {
    // git lists a deleted file until its deletion is staged.
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
