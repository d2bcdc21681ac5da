import { open, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { StoreFiles } from '../store.ts';
import type { ObjectStore } from './object-store.ts';

/** Layers have a hash in the names of theirs. */
const FOLDER = 'exports/';
/** Bytes sent or requested at a time, and held in memory: a reader may take hours, a request may not. S3 takes no less. */
const PIECE = 5 * 2 ** 20;
/** The limit of S3 for the parts of an object. */
const MAX_PIECES = 10_000;

/** Files as objects beside those of the tiles. */
export function createObjectFiles(bucket: ObjectStore, prefix: string): StoreFiles {
  const folder = `${prefix}${FOLDER}`;

  async function* rest(key: string, from: number, end: number): AsyncGenerator<Buffer> {
    for (let at = from; at <= end; ) {
      const piece = await bucket.get(key, [at, Math.min(at + PIECE - 1, end)]);
      if (!piece) throw new Error(`${key} was removed while it was read`);
      at += piece.length;
      yield piece;
    }
  }

  return {
    async put(name, path, signal) {
      await bucket.upload(`${folder}${name}`, piecesOf(path, signal));
      await rm(path);
    },
    async read(name, start, end) {
      const key = `${folder}${name}`;
      const first = await bucket.get(key, [start, Math.min(start + PIECE - 1, end)]);
      if (!first) return null;
      return Readable.from(
        (async function* () {
          yield first;
          yield* rest(key, start + first.length, end);
        })(),
        { objectMode: false },
      );
    },
    async names() {
      const { objects } = await bucket.list(folder, null);
      const unfinished = await bucket.unfinished(folder);
      return [...objects, ...unfinished].map(({ key }) => key.slice(folder.length));
    },
    async remove(names) {
      const keys = names.map((name) => `${folder}${name}`);
      for (const upload of await bucket.unfinished(folder)) {
        if (keys.includes(upload.key)) await bucket.abort(upload);
      }
      await bucket.remove(keys);
    },
  };
}

async function* piecesOf(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const { size } = await stat(path);
  const file = await open(path);
  try {
    const length = Math.max(PIECE, Math.ceil(size / MAX_PIECES));
    for (let position = 0; position < size; position += length) {
      signal.throwIfAborted();
      const piece = Buffer.allocUnsafe(Math.min(length, size - position));
      const { bytesRead } = await file.read(piece, { position });
      if (bytesRead < piece.length) throw new Error('the file has become shorter');
      yield piece;
    }
  } finally {
    await file.close();
  }
}
