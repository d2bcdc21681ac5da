import { describe, expect, it } from 'vitest';
import { evenGutter } from '../../test/fixtures/even-gutter.ts';
import { type PipelineHarness, pipelineHarnesses, until } from '../../test/fixtures/pipeline-harness.ts';
import { type BlankArea, polygonOfBounds } from '../domain/blank-area.ts';
import { TilewardenError } from '../domain/errors.ts';
import { formatOf } from '../domain/format.ts';
import { boundsOfTile } from '../domain/grid-set.ts';
import type { Layer } from '../domain/layer.ts';
import { encodeImage } from '../raster/encode-image.ts';
import { lookAt } from '../raster/picture-look.ts';
import type { SourceRequest } from '../sources/tile-source.ts';
import { BlankWatch } from './blank-watch.ts';
import type { FlightPlan } from './flight.ts';

const open = pipelineHarnesses();
const SEA = 0xffd0b090;
const LAND = 0xff306030;
const WHITE = 0xffffffff;

type Paint = (x: number, y: number) => number;

/** A server of single tiles, each painted as the test says. */
function painted(paint: (column: number, row: number) => Paint, layer: Partial<Layer> = {}): PipelineHarness {
  const harness = open({ maxMetatile: { columns: 1, rows: 1 }, layer });
  harness.source.answer = async (request) => await pictureOf(request, paint);
  return harness;
}

async function pictureOf(
  { width, height, metatile }: SourceRequest,
  paint: (column: number, row: number) => Paint,
) {
  const at = paint(metatile.rect.minX, metatile.rect.minY);
  const words = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) words[y * width + x] = at(x, y);
  const png = formatOf('image/png');
  if (!png) throw new Error('no PNG');
  const bytes = await encodeImage({ width, height, pixels: Buffer.from(words.buffer) }, png);
  return { kind: 'encoded' as const, bytes, mediaType: 'image/png' };
}

const plain = (colour: number) => () => colour;
const coast: Paint = (x) => (x < 40 ? LAND : SEA);
const town: Paint = (x, y) => (x % 8 < 4 !== y % 8 < 4 ? LAND : 0xff808080);

const landed = (harness: PipelineHarness) => until(() => harness.pipeline.status().flights === 0);
const suspects = (harness: PipelineHarness) => harness.counts.get('blanks_suspected_total') ?? 0;

async function freshUntil(
  harness: PipelineHarness,
  x: number,
  y: number,
): Promise<number | null | undefined> {
  await landed(harness);
  return (await harness.store.get(harness.tiles.set, { z: 5, x, y }))?.freshUntil;
}

it('the oldest pictures are forgotten when those in memory take too much', async () => {
  const harness = open();
  const suspects = { note: () => {}, forget: () => {} };
  const watch = new BlankWatch({ clock: harness.clock, areasOf: async () => [], suspects, maxBytes: 5000 });
  const judge = (column: number, paint: Paint) => {
    const words = new Uint32Array(256 * 256).map((_, at) => paint(at % 256, Math.floor(at / 256)));
    const data = Buffer.from(words.buffer);
    const look = lookAt({ width: 256, height: 256, channels: 4, data }, evenGutter(0));
    const rect = { minX: column, minY: 0, maxX: column, maxY: 0 };
    const metatile = { z: 5, column, row: 0, columns: 1, rows: 1, rect };
    return watch.judge({ tiles: harness.tiles, metatile } as unknown as FlightPlan, look);
  };
  const photograph: Paint = (x, y) => 0xff000000 + ((x * 16) % 256) * 65536 + x * 256 + y;
  for (const column of [0, 10, 20, 30, 40, 50, 60, 70]) await judge(column, photograph);
  expect(await judge(71, plain(LAND))).toBe('suspect');
  expect(await judge(1, plain(LAND))).toBe('fine');
});

describe('a picture of one colour', () => {
  it('a picture of one colour is accepted beside neighbours of that colour: the sea beside a coast', async () => {
    const harness = painted((column) => (column === 3 ? coast : plain(SEA)));
    for (let x = 3; x < 8; x++) await harness.read(5, x, 4);
    expect(await freshUntil(harness, 4, 4)).toBeNull();
    expect(suspects(harness)).toBe(0);
  });

  it('a picture of one colour is accepted if its neighbours are unknown', async () => {
    const harness = painted(() => plain(WHITE));
    await harness.read(5, 3, 4);
    expect(await freshUntil(harness, 3, 4)).toBeNull();
  });

  it('a picture of one colour is kept only briefly where a neighbour shows something else up to the edge', async () => {
    const harness = painted((column) => (column === 4 ? plain(WHITE) : town));
    await harness.read(5, 3, 4);
    const { outcome } = await harness.read(5, 4, 4);
    expect(outcome).toBe('MISS');
    expect(await freshUntil(harness, 4, 4)).toBe(harness.clock.now() + 60_000);
    expect(await freshUntil(harness, 3, 4)).toBeNull();
    expect(suspects(harness)).toBe(1);
    expect(harness.warnings.join()).toContain('layer roads has blank tiles beside others');
  });

  it('a picture of one colour is listed until another picture has come', async () => {
    let white = true;
    const harness = painted((column) => (column === 4 && white ? plain(WHITE) : town));
    await harness.read(5, 3, 4);
    await harness.read(5, 4, 4);
    await landed(harness);
    expect(harness.suspects.of('roads')).toHaveLength(1);
    white = false;
    harness.clock.advance(61_000);
    await harness.read(5, 4, 4);
    await landed(harness);
    expect(harness.suspects.of('roads')).toEqual([]);
  });

  it('a picture of one colour is kept like any other if the administrator confirms it', async () => {
    const harness = painted((column) => (column === 4 ? plain(WHITE) : town), { blankIsRight: true });
    await harness.read(5, 3, 4);
    await harness.read(5, 4, 4);
    expect(await freshUntil(harness, 4, 4)).toBeNull();
    expect(suspects(harness)).toBe(0);
  });

  it('a picture of one colour is kept like any other in a confirmed blank area, at its zooms only', async () => {
    const said = (zoomStop: number): BlankArea => ({ gridSet: null, zoomStart: 0, zoomStop, area: null });
    for (const [zoomStop, right] of [
      [5, true],
      [4, false],
    ] as const) {
      const harness = painted((column) => (column === 4 ? plain(WHITE) : town));
      harness.blankAreas.push(said(zoomStop));
      await harness.read(5, 3, 4);
      await harness.read(5, 4, 4);
      expect((await freshUntil(harness, 4, 4)) === null).toBe(right);
      expect(suspects(harness)).toBe(right ? 0 : 1);
    }
  });

  it('a picture of one colour is kept like any other if the declaration of its layer says so', async () => {
    const { gridSet } = open().tiles.subset;
    const area = {
      polygons: [polygonOfBounds(boundsOfTile(gridSet, 5, 4, 4))],
      crs: 'grid-set' as const,
    };
    const blankAreas = [{ gridSet: gridSet.name, zoomStart: 0, zoomStop: 30, area }];
    const harness = painted((column) => (column === 4 ? plain(WHITE) : town), { blankAreas });
    for (const y of [4, 5]) for (const x of [3, 4]) await harness.read(5, x, y);
    expect(await freshUntil(harness, 4, 4)).toBeNull();
    expect(await freshUntil(harness, 4, 5)).not.toBeNull();
    expect(harness.suspects.of('roads')).toMatchObject([{ z: 5, rect: { minX: 4, minY: 5 }, times: 1 }]);
  });

  it('a picture of one colour is accepted beside a picture that was seen too long ago', async () => {
    const harness = painted((column) => (column === 4 ? plain(WHITE) : town));
    await harness.read(5, 3, 4);
    await landed(harness);
    harness.clock.advance(10 * 60_000);
    await harness.read(5, 4, 4);
    expect(await freshUntil(harness, 4, 4)).toBeNull();
  });

  it('a picture of one colour is refused, and so is the run behind it, while the source is failing', async () => {
    const harness = painted((column) => (column >= 4 ? plain(WHITE) : town));
    const paint = harness.source.answer;
    await harness.read(5, 3, 4);
    harness.source.answer = async () => {
      throw new TilewardenError('source-unavailable', 'The map source answered that it cannot serve now.');
    };
    await harness.read(5, 9, 9).catch(() => undefined);
    harness.source.answer = paint;
    for (const x of [4, 5, 6]) {
      await expect(harness.read(5, x, 4)).rejects.toMatchObject({
        code: 'source-bad-answer',
        reason: 'blank',
      });
    }
    expect(harness.counts.get('gate_refusals_total blank')).toBe(3);
    expect(harness.suspects.of('roads').map(({ refused, rect }) => [refused, rect.minX])).toEqual([
      [true, 6],
      [true, 5],
      [true, 4],
    ]);
    harness.clock.advance(31_000);
    expect((await harness.read(5, 4, 4)).outcome).toBe('MISS');
    expect(suspects(harness)).toBe(1);
  });
});
