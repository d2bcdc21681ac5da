import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { isGzip } from '../../pipeline/accept-vector-tile.ts';
import type { TileAnswer } from '../../pipeline/tile-pipeline.ts';
import { acceptsGzip } from '../answer/negotiate.ts';
import type { Headers } from '../answer.ts';

const unzip = promisify(gunzip);

/** A vector tile lies in the store as its source packed it. It goes out so to whoever can unpack it, to others unpacked. */
export async function vectorAnswer(
  acceptEncoding: string | string[] | undefined,
  answer: TileAnswer,
): Promise<{ readonly answer: TileAnswer; readonly headers: Headers }> {
  if (!isGzip(answer.bytes)) return { answer, headers: [] };
  const vary = ['Vary', 'Accept-Encoding'];
  if (acceptsGzip(acceptEncoding)) return { answer, headers: ['Content-Encoding', 'gzip', ...vary] };
  // Other bytes are another representation: their length, and with it the validator, is another one.
  return { answer: { ...answer, bytes: await unzip(answer.bytes) }, headers: vary };
}
