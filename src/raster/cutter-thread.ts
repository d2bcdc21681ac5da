import { parentPort } from 'node:worker_threads';
import { errorCopier } from '../domain/error-copier.ts';
import { createChannel } from '../lib/channel.ts';
import { threadPort } from '../lib/open-thread.ts';
import { MetatileCutter } from './metatile-cutter.ts';
import { CUT, packMetatile } from './thread-messages.ts';
import type { Picture } from './tile-cutter.ts';

const port = parentPort;
if (!port) throw new Error('This file is a thread of the raster room.');

const cutter = new MetatileCutter();

createChannel(threadPort(port), errorCopier).handle(CUT, async ({ job, bytes }) =>
  packMetatile(await cutter.cut({ ...job, picture: withBuffer(job.picture, bytes) })),
);

/** A Buffer travels as a plain array of bytes. */
function withBuffer(picture: Picture, bytes: Uint8Array | null): Picture {
  if (picture.kind === 'encoded') return { ...picture, bytes: bufferOf(picture.bytes) };
  return picture.kind === 'pixels' && bytes ? { ...picture, pixels: bufferOf(bytes) } : picture;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
