import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { JpegCutter } from '../../packages/pixels/jpeg-cutter.ts';
import { readOrdinaryPng } from '../../packages/pixels/ordinary-png.ts';
import { Pixels } from '../../packages/pixels/pixels.ts';
import { type Encoding, encodingOf, encodingOptions, isMixed, plainImageType } from '../domain/format.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { plainExcerpt } from '../lib/plain-excerpt.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { type ImageMediaType, recogniseImage, refuseImage } from './check-structure.ts';
import {
  type CutGrid,
  copyPart,
  type DecodeLimits,
  decodeImage,
  decodeSamples,
  filledImage,
  type ImagePart,
  type RasterImage,
  type Samples,
  samplesOf,
} from './decode-image.ts';
import { encodeImage, encodePng, isPng, JPEG_QUALITY, MAX_HELD_BYTES, writePart } from './encode-image.ts';
import { isOpaque, singleColour, transparentColour, visible } from './single-colour.ts';
import type { CutJob, CutTile, CutterCounts, TileCutter } from './tile-cutter.ts';

/** Characters of a map server's error text in the log. */
const EXCERPT_LENGTH = 500;
const SNIFFED_BYTES = 1024;
/** From this many times the requested pixels, an image counts as `oversized` rather than `wrong-size`. */
const OVERSIZED_FACTOR = 4;

/**
 * The first half of the gate between a map server and the cache: checks the format by the first bytes. Throws
 * `source-bad-answer` for anything but an image of the declared type, with the server's text in `cause` and `upstream`.
 */
export function checkType(bytes: Buffer, declaredMediaType: string | null): ImageMediaType {
  if (bytes.length === 0) throw refuseImage('empty');
  const imageType = recogniseImage(bytes);
  if (!imageType) throw refusalOfText(bytes);
  if (declaredMediaType !== null && plainImageType(declaredMediaType) !== imageType) {
    throw refuseImage(
      'wrong-type',
      new Error(`it is ${imageType}, declared as ${declaredMediaType.slice(0, 100)}`),
    );
  }
  return imageType;
}

export function limitsFor(width: number, height: number): DecodeLimits {
  return { maxPixels: OVERSIZED_FACTOR * width * height, size: { width, height } };
}

function refusalOfText(bytes: Buffer): Error {
  const start = bytes
    .toString('utf8', 0, SNIFFED_BYTES)
    .replace(/^\uFEFF/, '')
    .trimStart();
  const begun = bytes.toString('utf8', 0, EXCERPT_LENGTH * 4);
  const detail = new Error(hideCredentials(begun).slice(0, EXCERPT_LENGTH));
  return refuseImage(kindOfText(start), detail, plainExcerpt(begun));
}

function kindOfText(start: string): 'html' | 'service-exception' | 'not-an-image' {
  if (/^<(!doctype\s+html|html[\s>])/i.test(start)) return 'html';
  if (!/^<(\?xml|!doctype|[a-z:]*serviceexception|[a-z:]*exceptionreport)/i.test(start))
    return 'not-an-image';
  return /<html[\s>]/i.test(start) ? 'html' : 'service-exception';
}

const PIXEL_BYTES = 4;
/** Bytes of tiles that are kept for equal responses and for equal pixels. */
const KEPT_ANSWERS = 2 * 1024 * 1024;
const KEPT_TILES = 2 * 1024 * 1024;
/** Approximate cost of an entry besides its bytes. */
const ENTRY_BYTES = 500;
const KEPT_COLOURS = 512;
/** Types whose single tiles are kept unchanged: encoding again would lose quality or, for PNG, the palette. */
const KEPT_TYPES: readonly string[] = ['image/jpeg', 'image/webp', 'image/avif', 'image/png'];

type EncodedPicture = Extract<CutJob['picture'], { kind: 'encoded' }>;

/** Cuts on the calling thread and blocks it for some milliseconds; `openCutterThread` uses another thread. */
export class MetatileCutter implements TileCutter {
  #pixels = new Pixels();
  #jpegs: JpegCutter | null = null;
  readonly #answers = new RecentMap<string, readonly CutTile[]>(KEPT_ANSWERS);
  readonly #tiles = new RecentMap<string, CutTile>(KEPT_TILES);
  readonly #plainTiles = new RecentMap<string, Promise<CutTile>>(KEPT_COLOURS);
  readonly counts: CutterCounts = { decodes: 0, cutJpegs: 0, encodes: 0, knownResponses: 0, knownTiles: 0 };

  async cut(job: CutJob): Promise<readonly CutTile[]> {
    const { picture } = job;
    if (picture.kind === 'nothing') return await this.#emptyTiles(job);
    if (picture.kind === 'pixels') return await this.#cutOwn(job, picture);
    const key = pictureKey(job, picture);
    const known = this.#answers.get(key);
    if (known) {
      this.counts.knownResponses++;
      return known;
    }
    const result = await this.#cutResponse(job, picture);
    this.#answers.set(key, result, weightOf(result));
    return result;
  }

  async close(): Promise<void> {}

  async #emptyTiles({ grid, format }: CutJob): Promise<CutTile[]> {
    const tile = await this.#plainTile(grid, format, 0);
    return Array.from({ length: grid.columns * grid.rows }, () => tile);
  }

  /** Cuts pixels that one of our own sources has drawn. */
  async #cutOwn({ grid, format }: CutJob, image: RasterImage): Promise<CutTile[]> {
    const { width, height } = sizeOf(grid);
    const fits = image.width === width && image.height === height;
    if (!fits || image.pixels.length !== width * height * PIXEL_BYTES) throw refuseImage('wrong-size');
    if (!isMadeHere(format.mediaType)) return await this.#writeTiles(grid, format, samplesOf(image));
    const pixels = this.#memory();
    pixels.load(image, grid.tileWidth, grid.tileHeight);
    return await this.#encodeTiles(grid, format, pixels);
  }

  async #cutResponse({ grid, format }: CutJob, { bytes, mediaType }: EncodedPicture): Promise<CutTile[]> {
    const imageType = checkType(bytes, mediaType);
    const isOneTile =
      grid.columns === 1 && grid.rows === 1 && Object.values(grid.gutter).every((side) => side === 0);
    const { mediaType: type } = format;
    const asItCame = isOneTile && imageType === type && KEPT_TYPES.includes(type) && hasNoOptions(format);
    if (imageType === 'image/jpeg' && type === 'image/jpeg' && !asItCame) {
      const cut = await this.#cutJpeg(grid, bytes, format);
      if (cut) return cut;
    }
    this.counts.decodes++;
    if (isMadeHere(type)) return await this.#cutInMemory(grid, format, bytes, imageType, asItCame);
    const { width, height } = sizeOf(grid);
    const samples = await decodeSamples(bytes, limitsFor(width, height));
    if (asItCame) return [tileAsItCame(bytes, samples)];
    return await this.#writeTiles(grid, format, samples);
  }

  async #cutJpeg(grid: CutGrid, bytes: Buffer, format: Encoding): Promise<CutTile[] | null> {
    this.#jpegs ??= new JpegCutter(JPEG_QUALITY);
    const cut = this.#jpegs.cut(bytes, grid, format.quality);
    if (!cut) return null;
    this.counts.cutJpegs++;
    const tiles = cut.map((tile) => {
      if (typeof tile === 'number') return this.#plainTile(grid, format, tile);
      this.counts.encodes++;
      return tileOf(tile, null);
    });
    return await Promise.all(tiles);
  }

  /** Decodes ordinary PNG in a third of the image library's time, and leaves everything else to the library. */
  async #cutInMemory(
    grid: CutGrid,
    format: Encoding,
    bytes: Buffer,
    imageType: ImageMediaType,
    asItCame: boolean,
  ): Promise<CutTile[]> {
    const { width, height } = sizeOf(grid);
    const png = imageType === 'image/png' ? readOrdinaryPng(bytes, width, height) : null;
    if (!png || !this.#memory().loadPng(png, grid.tileWidth, grid.tileHeight)) {
      const image = await decodeImage(bytes, limitsFor(width, height));
      this.#memory().load(image, grid.tileWidth, grid.tileHeight);
    }
    // No `await` between loading and encoding: all pictures share this memory.
    if (asItCame) return [tileAsItCame(bytes, this.#pixels.samples)];
    return await this.#encodeTiles(grid, format, this.#pixels);
  }

  /** The shared memory for pixels, replaced once it has grown too large. */
  #memory(): Pixels {
    if (this.#pixels.bytes > MAX_HELD_BYTES) this.#pixels = new Pixels();
    return this.#pixels;
  }

  /** Encodes as PNG, or opaque tiles of a mixed format as JPEG. When it returns, the next image may be loaded. */
  #encodeTiles(grid: CutGrid, format: Encoding, pixels: Pixels): Promise<CutTile[]> {
    const { samples } = pixels;
    return Promise.all(
      imageParts(grid).map((part) => {
        const colours = pixels.index(part);
        const colour = colours === 1 ? visible(pixels.colourAt(0)) : transparentColour(samples, part);
        if (colour !== null) return this.#plainTile(grid, format, colour);
        const encoding = encodingOf(format, () => isOpaque(samples, part));
        return this.#encodeTile(pixels, samples, part, colours, encoding);
      }),
    );
  }

  #encodeTile(
    pixels: Pixels,
    samples: Samples,
    part: ImagePart,
    colours: number,
    format: Encoding,
  ): CutTile | Promise<CutTile> {
    const key = `${keyOfEncoding(format)} ${part.width} ${part.height} ${pixels.fingerprint(part, colours)}`;
    const known = this.#tiles.get(key);
    if (known) {
      this.counts.knownTiles++;
      return known;
    }
    this.counts.encodes++;
    const bytes = isPng(format.mediaType) ? encodePng(pixels, part, colours, format) : null;
    if (!bytes) return writeWhole(copyPart(samples, part), format);
    const tile = tileOf(bytes, null);
    this.#tiles.set(key, tile, weightOf([tile]));
    return tile;
  }

  /** Encodes tiles in a format that the library writes. */
  #writeTiles(grid: CutGrid, format: Encoding, samples: Samples): Promise<CutTile[]> {
    return Promise.all(
      imageParts(grid).map(async (part) => {
        const colour = singleColour(samples, part);
        if (colour !== null) return await this.#plainTile(grid, format, colour);
        this.counts.encodes++;
        return tileOf(await writePart(samples, part, format), null);
      }),
    );
  }

  #plainTile({ tileWidth, tileHeight }: CutGrid, format: Encoding, colour: number): Promise<CutTile> {
    const key = `${keyOfEncoding(format)} ${tileWidth} ${tileHeight} ${colour}`;
    const known = this.#plainTiles.get(key);
    if (known) return known;
    this.counts.encodes++;
    const image = filledImage(tileWidth, tileHeight, colour);
    const result = encodeImage(image, format).then((bytes) => tileOf(bytes, colour));
    this.#plainTiles.set(key, result, 1);
    result.catch(() => this.#plainTiles.delete(key));
    return result;
  }
}

/** Whether tiles are encoded here: PNG and formats mixed with it. The image library encodes all others. */
function isMadeHere(mediaType: string): boolean {
  return isPng(mediaType) || isMixed(mediaType);
}

/** Whether the layer sets no options of the format. */
function hasNoOptions(format: Encoding): boolean {
  return encodingOptions(format.mediaType).every((option) => format[option] === undefined);
}

function keyOfEncoding({ mediaType, quality, lossless, colors, dither }: Encoding): string {
  return [mediaType, quality, lossless, colors, dither].join(' ');
}

async function writeWhole(samples: Samples, format: Encoding): Promise<CutTile> {
  const { width, height } = samples;
  return tileOf(await writePart(samples, { left: 0, top: 0, width, height }, format), null);
}

function tileAsItCame(bytes: Buffer, samples: Samples): CutTile {
  const { width, height } = samples;
  return tileOf(bytes, singleColour(samples, { left: 0, top: 0, width, height }));
}

function tileOf(bytes: Buffer, colour: number | null): CutTile {
  return { bytes, colour, checksum: crc32(bytes) };
}

function weightOf(tiles: readonly CutTile[]): number {
  return tiles.reduce((sum, { bytes }) => sum + bytes.length, ENTRY_BYTES);
}

/** Equal for the same bytes that are cut and encoded in the same way. */
function pictureKey({ grid, format }: CutJob, { bytes, mediaType }: EncodedPicture): string {
  const { columns, rows, tileWidth, tileHeight, gutter } = grid;
  const digest = createHash('sha1').update(bytes).digest('base64');
  return [
    digest,
    keyOfEncoding(format),
    mediaType,
    columns,
    rows,
    tileWidth,
    tileHeight,
    ...Object.values(gutter),
  ].join(' ');
}

function sizeOf({ columns, rows, tileWidth, tileHeight, gutter }: CutGrid) {
  const { left, top, right, bottom } = gutter;
  return { width: columns * tileWidth + left + right, height: rows * tileHeight + top + bottom };
}

function imageParts({ columns, rows, tileWidth: width, tileHeight: height, gutter }: CutGrid): ImagePart[] {
  return Array.from({ length: columns * rows }, (_, i) => ({
    left: gutter.left + (i % columns) * width,
    top: gutter.top + Math.floor(i / columns) * height,
    width,
    height,
  }));
}
