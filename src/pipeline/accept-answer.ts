import { metatileImage } from '../domain/metatile.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { acceptImage } from '../raster/accept-image.ts';
import { cutImage } from '../raster/cut-image.ts';
import { refuseImage } from '../raster/image-refusal.ts';
import type { RasterImage } from '../raster/raster-image.ts';
import { recogniseImage } from '../raster/recognise-image.ts';
import { singleColour } from '../raster/single-colour.ts';
import type { TileEncoder } from '../raster/tile-encoder.ts';
import type { SourceAnswer, SourceRequest } from '../sources/tile-source.ts';
import { acceptVectorTile } from './accept-vector-tile.ts';
import type { FlightPlan } from './flight.ts';
import { gutterOf } from './resolve-tile-set.ts';

export interface EncodedPart {
  readonly bytes: Buffer;
  readonly blank: boolean;
}

/** A metatile that has passed the gate. */
export interface AcceptedMetatile {
  encode(tile: TileIndex): Promise<EncodedPart>;
}

const BYTES_PER_PIXEL = 4;
/** To encode JPEG and WebP again would cost a second loss; PNG is what its server made of it, palette and all. */
const KEPT_TYPES: readonly string[] = ['image/jpeg', 'image/webp', 'image/png'];

export function sourceRequestOf(plan: FlightPlan, signal: AbortSignal): SourceRequest {
  const { tiles, metatile, priority } = plan;
  const { gridSet } = tiles.subset;
  const image = metatileImage(gridSet, metatile, gutterOf(tiles));
  return {
    gridSet,
    metatile,
    ...image,
    format: tiles.format,
    parameters: tiles.selection.values,
    priority,
    signal,
  };
}

/** The gate: what is not exactly what was asked for is `source-bad-answer`, and nothing of it goes further. */
export async function acceptAnswer(
  plan: FlightPlan,
  request: SourceRequest,
  answer: SourceAnswer,
  encoder: TileEncoder,
): Promise<AcceptedMetatile> {
  if (plan.tiles.format.kind === 'opaque') return await acceptOpaque(answer);
  const image = await believedImage(request, answer);
  const ready = readyMadeTile(plan, answer);
  if (ready) {
    const part = { bytes: ready, blank: singleColour(image) !== null };
    return { encode: async () => part };
  }
  return {
    async encode(tile) {
      const { bytes, colour } = await encoder.encodeTile(cutTile(plan, image, tile), request.format);
      return { bytes, blank: colour !== null };
    },
  };
}

async function believedImage(request: SourceRequest, answer: SourceAnswer): Promise<RasterImage> {
  const { width, height } = request;
  if (answer.kind === 'encoded') return acceptImage(answer.bytes, answer.mediaType, width, height);
  if (answer.kind === 'nothing') return transparentImage(width, height);
  const fits =
    answer.width === width &&
    answer.height === height &&
    answer.pixels.length === width * height * BYTES_PER_PIXEL;
  if (!fits) throw refuseImage('wrong-size');
  return answer;
}

function transparentImage(width: number, height: number): RasterImage {
  return { width, height, pixels: Buffer.alloc(width * height * BYTES_PER_PIXEL) };
}

async function acceptOpaque(answer: SourceAnswer): Promise<AcceptedMetatile> {
  if (answer.kind === 'pixels') throw refuseImage('wrong-type');
  const bytes =
    answer.kind === 'nothing' ? Buffer.alloc(0) : await acceptVectorTile(answer.bytes, answer.mediaType);
  return { encode: async () => ({ bytes, blank: bytes.length === 0 }) };
}

/** The answer's own bytes, when they are one tile in the wanted format: they were checked, and stay as they came. */
function readyMadeTile({ tiles, metatile }: FlightPlan, answer: SourceAnswer): Buffer | null {
  const { minX, minY, maxX, maxY } = metatile.rect;
  const single = minX === maxX && minY === maxY && gutterOf(tiles) === 0;
  if (!single || answer.kind !== 'encoded') return null;
  const { mediaType } = tiles.format;
  return KEPT_TYPES.includes(mediaType) && recogniseImage(answer.bytes) === mediaType ? answer.bytes : null;
}

function cutTile({ tiles, metatile }: FlightPlan, image: RasterImage, { x, y }: TileIndex): RasterImage {
  const { tileWidth, tileHeight } = tiles.subset.gridSet;
  const gutter = gutterOf(tiles);
  const left = gutter + (x - metatile.rect.minX) * tileWidth;
  const top = gutter + (y - metatile.rect.minY) * tileHeight;
  return cutImage(image, left, top, tileWidth, tileHeight);
}
