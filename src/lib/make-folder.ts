import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from './error-code.ts';

/** Like `mkdirSync` with `recursive`, which never returns in Node.js 20 where no folder can be created, e.g. in /proc. */
export function makeFolder(path: string, mode?: number): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (hasCode(error, 'EEXIST') && statSync(path).isDirectory()) return;
    if (!hasCode(error, 'ENOENT') || existsSync(dirname(path))) throw error;
    makeFolder(dirname(path), mode);
    makeFolder(path, mode);
  }
}
