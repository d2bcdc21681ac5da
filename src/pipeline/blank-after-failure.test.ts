import { describe, expect, it } from 'vitest';
import { until } from '../../test/fixtures/eventually.ts';
import { type PipelineHarness, pipelineHarnesses } from '../../test/fixtures/pipeline-harness.ts';
import { TilewardenError } from '../domain/errors.ts';
import { formatOf } from '../domain/format.ts';
import { filledImage } from '../raster/decode-image.ts';
import { encodeImage } from '../raster/encode-image.ts';
import type { SourceRequest } from '../sources/tile-source.ts';

const open = pipelineHarnesses();
const WHITE = 0xffffffff;
const GREEN = 0xff306030;
/** Milliseconds. */
const KEPT_FOR = 120_000;

/** `colours` has the left and the right half of each picture. */
function painted(colours: readonly [number, number], freshSeconds?: number): PipelineHarness {
  const harness = open({ layer: { followSource: freshSeconds !== undefined } });
  harness.source.answer = async (request) => ({
    kind: 'encoded' as const,
    bytes: await pictureOf(request, colours),
    mediaType: 'image/png',
    ...(freshSeconds !== undefined && { freshSeconds }),
  });
  return harness;
}

async function pictureOf({ width, height }: SourceRequest, [left, right]: readonly [number, number]) {
  const png = formatOf('image/png');
  if (!png) throw new Error('no PNG');
  const image = filledImage(width, height, left);
  const pixels = new Uint32Array(image.pixels.buffer, image.pixels.byteOffset, width * height);
  for (let at = 0; at < pixels.length; at++) if (at % width >= width / 2) pixels[at] = right;
  return encodeImage(image, png);
}

async function failOnce(harness: PipelineHarness): Promise<void> {
  const { answer } = harness.source;
  harness.source.answer = async () => {
    throw new TilewardenError('source-unavailable', 'The map source answered that it cannot serve now.');
  };
  await expect(harness.read(5, 20, 20)).rejects.toMatchObject({ code: 'source-unavailable' });
  harness.source.answer = answer;
}

async function freshUntil(harness: PipelineHarness): Promise<number | null | undefined> {
  expect((await harness.read(5, 4, 4)).outcome).toBe('MISS');
  await until(() => harness.pipeline.status().flights === 0);
  return (await harness.store.get(harness.tiles.set, { z: 5, x: 4, y: 4 }))?.freshUntil;
}

const suspects = (harness: PipelineHarness) => harness.counts.get('blanks_suspected_total');

describe('a blank metatile', () => {
  it('a blank metatile of a source that has not failed is kept as long as any other', async () => {
    const harness = painted([WHITE, WHITE]);
    expect(await freshUntil(harness)).toBeNull();
    expect(suspects(harness)).toBeUndefined();
  });

  it('a blank metatile within 30 seconds of a failure of its source is kept for two minutes', async () => {
    const harness = painted([WHITE, WHITE]);
    await failOnce(harness);
    harness.clock.advance(29_999);
    expect(await freshUntil(harness)).toBe(harness.clock.now() + KEPT_FOR);
    expect(suspects(harness)).toBe(1);
    harness.clock.advance(KEPT_FOR);
    expect(await freshUntil(harness)).toBeNull();
  });

  it('a blank metatile 30 seconds after a failure of its source is kept as long as any other', async () => {
    const harness = painted([WHITE, WHITE]);
    await failOnce(harness);
    harness.clock.advance(30_000);
    expect(await freshUntil(harness)).toBeNull();
  });

  it('a blank metatile after a failure is kept no longer than its source says', async () => {
    const harness = painted([WHITE, WHITE], 10);
    await failOnce(harness);
    expect(await freshUntil(harness)).toBe(harness.clock.now() + 10_000);
  });

  it('a metatile with a picture is kept as long as any other after a failure', async () => {
    const harness = painted([WHITE, GREEN]);
    await failOnce(harness);
    expect(await freshUntil(harness)).toBeNull();
    expect(suspects(harness)).toBeUndefined();
  });
});
