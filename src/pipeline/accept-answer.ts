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
const MARKUP_TYPE = /^text\/|html|xml|json/;
/** To encode them again would cost a second loss. */
const LOSSY_TYPES: readonly string[] = ['image/jpeg', 'image/webp'];

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
  if (plan.tiles.format.kind === 'opaque') return acceptOpaque(answer);
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
  const fits =
    answer.width === width &&
    answer.height === height &&
    answer.pixels.length === width * height * BYTES_PER_PIXEL;
  if (!fits) throw refuseImage('wrong-size');
  return answer;
}

function acceptOpaque(answer: SourceAnswer): AcceptedMetatile {
  if (answer.kind !== 'encoded') throw refuseImage('wrong-type');
  const { bytes, mediaType } = answer;
  if (bytes.length === 0) throw refuseImage('empty');
  const markup = MARKUP_TYPE.test(mediaType ?? '') || bytes[0] === '<'.charCodeAt(0);
  if (markup) throw refuseImage('wrong-type', new Error(bytes.toString('utf8', 0, 500)));
  return { encode: async () => ({ bytes, blank: false }) };
}

/** The answer's own bytes, when they are one tile in the wanted lossy format. */
function readyMadeTile({ tiles, metatile }: FlightPlan, answer: SourceAnswer): Buffer | null {
  const { minX, minY, maxX, maxY } = metatile.rect;
  const single = minX === maxX && minY === maxY && gutterOf(tiles) === 0;
  if (!single || answer.kind !== 'encoded') return null;
  const { contentType } = tiles.format;
  return LOSSY_TYPES.includes(contentType) && recogniseImage(answer.bytes) === contentType
    ? answer.bytes
    : null;
}

function cutTile({ tiles, metatile }: FlightPlan, image: RasterImage, { x, y }: TileIndex): RasterImage {
  const { tileWidth, tileHeight } = tiles.subset.gridSet;
  const gutter = gutterOf(tiles);
  const left = gutter + (x - metatile.rect.minX) * tileWidth;
  const top = gutter + (y - metatile.rect.minY) * tileHeight;
  return cutImage(image, left, top, tileWidth, tileHeight);
}
