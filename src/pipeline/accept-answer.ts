import { crc32 } from 'node:zlib';
import { gutterAround, metatileImage } from '../domain/metatile.ts';
import { refuseImage } from '../raster/check-structure.ts';
import type { CutJob, CutTile, TileCutter } from '../raster/tile-cutter.ts';
import type { SourceRequest, SourceResult } from '../sources/tile-source.ts';
import { acceptVectorTile } from './accept-vector-tile.ts';
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

/** The gate: anything but exactly the requested picture is `source-bad-answer`, and goes no further. */
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

/** Without metadata. */
function pictureOf(answer: Picture): CutJob['picture'] {
  if (answer.kind === 'encoded') return { kind: 'encoded', bytes: answer.bytes, mediaType: answer.mediaType };
  if (answer.kind === 'nothing') return { kind: 'nothing' };
  const { pixels, width, height } = answer;
  return { kind: 'pixels', pixels, width, height };
}

/** One colour: nothing. */
async function acceptOpaque(answer: Picture): Promise<readonly CutTile[]> {
  if (answer.kind === 'pixels') throw refuseImage('wrong-type');
  const bytes =
    answer.kind === 'nothing' ? Buffer.alloc(0) : await acceptVectorTile(answer.bytes, answer.mediaType);
  const colour = bytes.length === 0 ? 0 : null;
  return [{ bytes, colour, checksum: crc32(bytes) }];
}
