import { metatileImage } from '../domain/metatile.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { acceptImage } from '../raster/accept-image.ts';
import { refuseImage } from '../raster/image-refusal.ts';
import type { RasterImage } from '../raster/raster-image.ts';
import { recogniseImage } from '../raster/recognise-image.ts';
import { singleColour } from '../raster/single-colour.ts';
import type { ImagePart, TileEncoder } from '../raster/tile-encoder.ts';
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
  /** What a server sent, all of it, for whoever judges by its looks; null for what has no pixels or is our own. */
  readonly picture: RasterImage | null;
  encode(tile: TileIndex): Promise<EncodedPart>;
}

const BYTES_PER_PIXEL = 4;
/** To encode JPEG and WebP again would cost a second loss; PNG is what its server made of it, palette and all. */
const KEPT_TYPES: readonly string[] = ['image/jpeg', 'image/webp', 'image/png'];

/** An answer with something to look at. */
export type Picture = Exclude<SourceAnswer, { kind: 'unchanged' }>;

export function sourceRequestOf(
  plan: Pick<FlightPlan, 'tiles' | 'metatile' | 'priority' | 'sent'>,
  validator: string | null,
  signal: AbortSignal,
): SourceRequest {
  const { tiles, metatile, priority, sent } = plan;
  const { gridSet } = tiles.subset;
  const image = metatileImage(gridSet, metatile, gutterOf(tiles));
  return {
    gridSet,
    metatile,
    ...image,
    format: tiles.format,
    parameters: tiles.selection.values,
    priority,
    validator,
    signal,
    sent,
  };
}

/** The gate: what is not exactly what was asked for is `source-bad-answer`, and nothing of it goes further. */
export async function acceptAnswer(
  plan: FlightPlan,
  request: SourceRequest,
  answer: Picture,
  encoder: TileEncoder,
): Promise<AcceptedMetatile> {
  if (plan.tiles.format.kind === 'opaque') return await acceptOpaque(answer);
  const image = await believedImage(request, answer);
  const picture = answer.kind === 'encoded' ? image : null;
  const ready = readyMadeTile(plan, answer);
  if (ready) {
    const part = { bytes: ready, blank: singleColour(image) !== null };
    return { picture, encode: async () => part };
  }
  return {
    picture,
    async encode(tile) {
      const { bytes, colour } = await encoder.encodePart(image, partOf(plan, tile), request.format);
      return { bytes, blank: colour !== null };
    },
  };
}

async function believedImage(request: SourceRequest, answer: Picture): Promise<RasterImage> {
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

async function acceptOpaque(answer: Picture): Promise<AcceptedMetatile> {
  if (answer.kind === 'pixels') throw refuseImage('wrong-type');
  const bytes =
    answer.kind === 'nothing' ? Buffer.alloc(0) : await acceptVectorTile(answer.bytes, answer.mediaType);
  return { picture: null, encode: async () => ({ bytes, blank: bytes.length === 0 }) };
}

/** The answer's own bytes, when they are one tile in the wanted format: they were checked, and stay as they came. */
function readyMadeTile({ tiles, metatile }: FlightPlan, answer: Picture): Buffer | null {
  const { minX, minY, maxX, maxY } = metatile.rect;
  const single = minX === maxX && minY === maxY && gutterOf(tiles) === 0;
  if (!single || answer.kind !== 'encoded') return null;
  const { mediaType } = tiles.format;
  return KEPT_TYPES.includes(mediaType) && recogniseImage(answer.bytes) === mediaType ? answer.bytes : null;
}

function partOf({ tiles, metatile }: FlightPlan, { x, y }: TileIndex): ImagePart {
  const { tileWidth: width, tileHeight: height } = tiles.subset.gridSet;
  const gutter = gutterOf(tiles);
  const left = gutter + (x - metatile.rect.minX) * width;
  const top = gutter + (y - metatile.rect.minY) * height;
  return { left, top, width, height };
}
