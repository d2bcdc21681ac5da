import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Format } from '../domain/format.ts';
import { cutImage } from './cut-image.ts';
import { encodeImage } from './encode-image.ts';
import type { RasterImage } from './raster-image.ts';
import { singleColour } from './single-colour.ts';

export interface EncodedTile {
  readonly bytes: Buffer;
  /** 0xAABBGGRR when all pixels are of one colour; null otherwise. */
  readonly colour: number | null;
}

export interface TileEncoder {
  /** Any number of calls may run at once: the event loop gets its turn between one tile's pixels and the next's. */
  encodeTile(image: RasterImage, format: Format): Promise<EncodedTile>;
  /** The same for a part of an image, which is cut out when its turn has come. */
  encodePart(image: RasterImage, part: ImagePart, format: Format): Promise<EncodedTile>;
}

export interface ImagePart {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const DEFAULT_CACHED_COLOURS = 512;
/** Buffers for cut tiles that are kept to be used again. */
const MAX_SPARE = 4;

/** Encodes tiles; those of one colour are encoded once and their bytes used again. */
export function createTileEncoder(options: { readonly cachedColours?: number } = {}): TileEncoder {
  const limit = options.cachedColours ?? DEFAULT_CACHED_COLOURS;
  const known = new Map<string, Promise<Buffer>>();
  // To make and drop a tile's worth of pixels each time keeps the garbage collector busy.
  const spare: Buffer[] = [];
  let lastTurn: Promise<void> = Promise.resolve();

  async function takeTurn(): Promise<void> {
    lastTurn = lastTurn.then(() => nextTurn());
    await lastTurn;
  }

  function plainTile(image: RasterImage, format: Format, colour: number): Promise<Buffer> {
    const key = `${format.mediaType} ${image.width} ${image.height} ${colour}`;
    const made = known.get(key) ?? encodeImage(filledImage(image.width, image.height, colour), format);
    known.delete(key);
    known.set(key, made);
    made.catch(() => known.delete(key));
    dropOldest(known, limit);
    return made;
  }

  async function encode(image: RasterImage, format: Format): Promise<EncodedTile> {
    const colour = singleColour(image);
    const encoding = colour === null ? encodeImage(image, format) : plainTile(image, format, colour);
    return { bytes: await encoding, colour };
  }

  return {
    async encodeTile(image, format) {
      await takeTurn();
      return await encode(image, format);
    },
    async encodePart(image, { left, top, width, height }, format) {
      await takeTurn();
      const part = cutImage(image, left, top, width, height, spare.pop());
      try {
        return await encode(part, format);
      } finally {
        if (spare.length < MAX_SPARE) spare.push(part.pixels);
      }
    },
  };
}

function filledImage(width: number, height: number, colour: number): RasterImage {
  const words = new Uint32Array(width * height).fill(colour);
  return { width, height, pixels: Buffer.from(words.buffer) };
}

function dropOldest(entries: Map<string, unknown>, limit: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= limit) return;
    entries.delete(key);
  }
}
