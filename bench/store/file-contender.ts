import { mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { Contender } from './contender.ts';

/** Tiles along a side of one folder, so that no folder gets large. */
const FOLDER_SIDE = 32;

/**
 * One file for each tile in two levels of folders, written beside its place and renamed. Calls are synchronous:
 * that is the quickest Node can do with files, and no other work is waiting here.
 */
export function createFileContender(root: string): Contender {
  const made = new Set<string>();
  const folderOf = (x: number, y: number) =>
    `${root}/${Math.floor(x / FOLDER_SIDE)}/${Math.floor(y / FOLDER_SIDE)}`;
  const pathOf = (x: number, y: number) => `${folderOf(x, y)}/${x}_${y}.png`;

  function makeFolder(folder: string): void {
    if (made.has(folder)) return;
    mkdirSync(folder, { recursive: true });
    made.add(folder);
  }

  return {
    name: 'files',
    root,
    async write(tiles) {
      for (const { x, y, bytes } of tiles) {
        makeFolder(folderOf(x, y));
        const path = pathOf(x, y);
        writeFileSync(`${path}.new`, bytes);
        renameSync(`${path}.new`, path);
      }
    },
    async read(x, y) {
      const bytes = readFileSync(pathOf(x, y));
      crc32(bytes);
      return bytes.length;
    },
    async deleteRange(rect) {
      for (let y = rect.minY; y <= rect.maxY; y++) {
        for (let x = rect.minX; x <= rect.maxX; x++) unlinkSync(pathOf(x, y));
      }
    },
    drop: () => rm(root, { recursive: true, force: true }),
    freed: async () => undefined,
    close: async () => undefined,
  };
}
