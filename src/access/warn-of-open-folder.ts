import { stat } from 'node:fs/promises';
import type { Logger } from '../lib/logger.ts';

const WRITABLE_BY_ALL = 0o002;

/** Whoever can write into the data folder can make themselves an administrator. */
export async function warnOfOpenFolder(folder: string, log: Logger): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & WRITABLE_BY_ALL) === 0 || process.platform === 'win32') return;
  log.warn({ folder }, `everybody on this machine can write into the data folder; say: chmod o-w ${folder}`);
}
