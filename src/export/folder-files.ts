import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../lib/error-code.ts';
import type { StoreFiles } from '../storage/store.ts';

/** Files of a machine that shares its stores with no other. */
export function createFolderFiles(folder: string): StoreFiles {
  return {
    put: (name, path) => rename(path, join(folder, name)),
    async read(name, start, end) {
      try {
        return (await open(join(folder, name))).createReadStream({ start, end });
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return null;
        throw error;
      }
    },
    names: () => readdir(folder),
    async remove(names) {
      for (const name of names) await rm(join(folder, name), { force: true });
    },
  };
}
