import { promisify } from 'node:util';
import { crc32, gunzip } from 'node:zlib';
import { gutterAround, metatileImage } from '../domain/metatile.ts';
import { hasCode } from '../lib/error-code.ts';
import { isGzip } from '../lib/gzip.ts';
import { plainExcerpt } from '../lib/plain-excerpt.ts';
import { readFields } from '../lib/protobuf.ts';
import { refuseImage } from '../raster/check-structure.ts';
import type { CutJob, CutTile, TileCutter } from '../raster/tile-cutter.ts';
import type { SourceRequest, SourceResult } from '../sources/tile-source.ts';
import type { FlightPlan } from './flight.ts';
import { gutterOf } from './resolve-tile-set.ts';

export type Picture = Exclude<SourceResult, { kind: 'unchanged' }>;

export function sourceRequestOf(
  plan: Pick<FlightPlan, 'tiles' | 'metatile' | 'priority' | 'sent'>,
  validator: string | null,
  signal: AbortSignal,
): SourceRequest {
  const { tiles, metatile, priority, sent } = plan;
  const { gridSet } = tiles.subset;
  const image = metatileImage(gridSet, metatile, gutterAround(gridSet, metatile, gutterOf(tiles)));
  return {
    gridSet,
    metatile,
    ...image,
    format: tiles.format,
    parameters: tiles.selection.values,
    priority,
    validator,
    authorization: tiles.authorization ?? null,
    signal,
    sent,
  };
}

/** The gate: throws `source-bad-answer` for anything but exactly the requested picture. */
export async function acceptResponse(
  plan: FlightPlan,
  answer: Picture,
  cutter: TileCutter,
): Promise<readonly CutTile[]> {
  const { tiles, metatile } = plan;
  if (tiles.format.kind === 'opaque') return await acceptOpaque(answer);
  const { gridSet } = tiles.subset;
  const { tileWidth, tileHeight } = gridSet;
  const { minX, minY, maxX, maxY } = metatile.rect;
  const shape = { columns: maxX - minX + 1, rows: maxY - minY + 1 };
  const grid = { ...shape, tileWidth, tileHeight, gutter: gutterAround(gridSet, metatile, gutterOf(tiles)) };
  return await cutter.cut({ picture: pictureOf(answer), grid, format: tiles.format });
}

/** The picture without its metadata, which the cutter's thread does not need. */
function pictureOf(answer: Picture): CutJob['picture'] {
  if (answer.kind === 'encoded') return { kind: 'encoded', bytes: answer.bytes, mediaType: answer.mediaType };
  if (answer.kind === 'nothing') return { kind: 'nothing' };
  const { pixels, width, height } = answer;
  return { kind: 'pixels', pixels, width, height };
}

/** For tiles that are not images. One without bytes counts as blank. */
async function acceptOpaque(answer: Picture): Promise<readonly CutTile[]> {
  if (answer.kind === 'pixels') throw refuseImage('wrong-type');
  const bytes =
    answer.kind === 'nothing' ? Buffer.alloc(0) : await acceptVectorTile(answer.bytes, answer.mediaType);
  const colour = bytes.length === 0 ? 0 : null;
  return [{ bytes, colour, checksum: crc32(bytes) }];
}

const unzip = promisify(gunzip);

const MARKUP_TYPE = /^text\/|html|xml|json|^image\//;
/** Bytes of a decompressed tile; far more than a map client can draw. */
const MAX_TILE_BYTES = 32 * 1024 * 1024;
const EXCERPT_BYTES = 2000;
/** Mapbox Vector Tile 2.1, 4.1: a tile is a list of layers; extensions use field numbers from 16 on. */
const LAYERS_FIELD = 3;
const FIRST_EXTENSION_FIELD = 16;
const NAME_FIELD = 1;

/**
 * The gate for vector tiles, compressed with gzip or not: throws `source-bad-answer` unless the tile is complete and a
 * list of named layers. Returns the bytes unchanged.
 */
export async function acceptVectorTile(bytes: Buffer, mediaType: string | null): Promise<Buffer> {
  if (bytes.length === 0) throw refuseImage('empty');
  if (bytes[0] === '<'.charCodeAt(0) || MARKUP_TYPE.test(mediaType ?? '')) {
    const begun = bytes.toString('utf8', 0, EXCERPT_BYTES);
    throw refuseImage('wrong-type', new Error(begun), plainExcerpt(begun));
  }
  const tile = isGzip(bytes) ? await decompress(bytes) : bytes;
  if (!isVectorTile(tile)) throw refuseImage('truncated', new Error('it is not a complete vector tile'));
  return bytes;
}

async function decompress(bytes: Buffer): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: MAX_TILE_BYTES });
  } catch (error) {
    throw refuseImage(hasCode(error, 'ERR_BUFFER_TOO_LARGE') ? 'oversized' : 'truncated', error);
  }
}

function isVectorTile(tile: Buffer): boolean {
  const layersOnly = (field: number, content: Buffer | null) =>
    field === LAYERS_FIELD ? content !== null && isLayer(content) : field >= FIRST_EXTENSION_FIELD;
  return readFields(tile, layersOnly);
}

function isLayer(layer: Buffer): boolean {
  let named = false;
  const sound = readFields(layer, (field, content) => {
    named ||= field === NAME_FIELD && content !== null;
    return field > 0;
  });
  return sound && named;
}
