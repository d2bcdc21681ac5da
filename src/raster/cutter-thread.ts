import { errorCopier } from '../domain/error-copier.ts';
import { channelToParent } from '../lib/open-thread.ts';
import { MetatileCutter } from './metatile-cutter.ts';
import { CUT, packMetatile } from './thread-messages.ts';
import type { Picture } from './tile-cutter.ts';

const cutter = new MetatileCutter();

channelToParent(errorCopier).handle(CUT, async ({ job }) =>
  packMetatile(await cutter.cut({ ...job, picture: withBuffer(job.picture) })),
);

/** Between threads, a Buffer is copied as a Uint8Array. */
function withBuffer(picture: Picture): Picture {
  if (picture.kind === 'encoded') return { ...picture, bytes: bufferOf(picture.bytes) };
  return picture.kind === 'pixels' ? { ...picture, pixels: bufferOf(picture.pixels) } : picture;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
