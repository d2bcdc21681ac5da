import { open, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { StoreFiles } from '../store.ts';
import { type ObjectStore, objectsUnder } from './object-store.ts';

/** Cannot be the folder of a layer, which ends with a hash. */
const FOLDER = 'exports/';
/** Bytes of an object. Files are in pieces, because a client may take hours to read one, and a request may not. */
const PIECE = 5 * 2 ** 20;
/** Objects that are removed together. */
const BATCH = 1000;

/** Files in pieces, an object each, beside the tiles. A file exists once its first piece does, which is put last. */
export function createObjectFiles(bucket: ObjectStore, prefix: string): StoreFiles {
  const folder = `${prefix}${FOLDER}`;
  const keyOf = (name: string, piece: number) => `${folder}${name}/${piece}`;

  async function* bytesOf(name: string, start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at <= end; ) {
      const piece = Math.floor(at / PIECE);
      const [first, last] = [at - piece * PIECE, Math.min(PIECE - 1, end - piece * PIECE)];
      const bytes = await bucket.get(keyOf(name, piece), [first, last]);
      if (!bytes?.length) throw new Error(`${name} was removed while it was read`);
      at += bytes.length;
      yield bytes;
    }
  }

  return {
    async put(name, path, signal) {
      const { size } = await stat(path);
      const file = await open(path);
      try {
        for (let piece = Math.ceil(size / PIECE) - 1; piece >= 0; piece--) {
          signal.throwIfAborted();
          const position = piece * PIECE;
          const bytes = Buffer.allocUnsafe(Math.min(PIECE, size - position));
          const { bytesRead } = await file.read(bytes, { position });
          if (bytesRead < bytes.length) throw new Error('the file has become shorter');
          await bucket.put(keyOf(name, piece), bytes);
        }
      } finally {
        await file.close();
      }
      await rm(path);
    },
    async read(name, start, end) {
      if (!(await bucket.get(keyOf(name, 0), [0, 0]))) return null;
      return Readable.from(bytesOf(name, start, end), { objectMode: false });
    },
    async names() {
      const { objects } = await bucket.list(folder, null);
      return [...new Set(objects.map(({ key }) => key.slice(folder.length).replace(/\/\d+$/, '')))];
    },
    async remove(names) {
      for (const name of names) {
        const keys: string[] = [];
        for await (const { key } of objectsUnder(bucket, keyOf(name, 0).slice(0, -1))) keys.push(key);
        for (let at = 0; at < keys.length; at += BATCH) await bucket.remove(keys.slice(at, at + BATCH));
      }
    },
  };
}
