import { type FileHandle, open } from 'node:fs/promises';
import type { FileParts } from './pmtiles-archive.ts';

/** Parts of a file of this machine. It is opened for each read, so that a file put in its place is seen at once. */
export function createLocalFileParts(path: string): FileParts {
  return {
    async read(offset, length, { signal }) {
      signal.throwIfAborted();
      const file = await open(path, 'r');
      try {
        return await readPart(file, offset, length);
      } finally {
        await file.close();
      }
    },
    close: async () => {},
  };
}

async function readPart(file: FileHandle, offset: number, length: number) {
  const { ino, size, mtimeMs } = await file.stat();
  // What an archive says of its own lengths is not believed before the file is known to be that long.
  const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return { bytes: bytes.subarray(0, filled), version: `${ino}-${size}-${mtimeMs}` };
}
