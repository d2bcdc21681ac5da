import { parentPort } from 'node:worker_threads';
import { errorCopier } from '../domain/error-copier.ts';
import { type CutAnswer, type CutRequest, packMetatile } from './cutter-messages.ts';
import { MetatileCutter } from './metatile-cutter.ts';
import type { CutJob, Picture } from './tile-cutter.ts';

const port = parentPort;
if (!port) throw new Error('This file is a thread of the raster room.');

const cutter = new MetatileCutter();

port.on('message', ({ id, job }: CutRequest) => {
  cutter.cut(withBuffers(job)).then(
    (made) => {
      const packed = packMetatile(made);
      port.postMessage({ id, packed } satisfies CutAnswer, [packed.bytes.buffer as ArrayBuffer]);
    },
    (error: unknown) => port.postMessage({ id, failure: errorCopier.write(error) } satisfies CutAnswer),
  );
});

/** A Buffer travels as a plain array of bytes. */
function withBuffers(job: CutJob): CutJob {
  return { ...job, picture: withBuffer(job.picture) };
}

function withBuffer(picture: Picture): Picture {
  if (picture.kind === 'encoded') return { ...picture, bytes: bufferOf(picture.bytes) };
  if (picture.kind === 'pixels') return { ...picture, pixels: bufferOf(picture.pixels) };
  return picture;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
