import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { catalogOf, format, layerNamed, slopingTiles } from '../../test/fixtures/http-app.ts';
import { sizeOfRect } from '../domain/tile-rect.ts';
import { createMapComposer, type MapRequest } from './map-composer.ts';
import { planMap } from './map-plan.ts';
import { createNoticePainter } from './notice-painter.ts';
import { resolveTileSet } from './resolve-tile-set.ts';
import type { TilePipeline } from './tile-pipeline.ts';

const bound = catalogOf([layerNamed('full')]).layer('full');
if (!bound) throw new Error('no layer');
const tiles = resolveTileSet(bound, { gridSet: 'EPSG:4326', format: 'image/png', parameters: new Map() });

function asked(changes: Partial<MapRequest> = {}): MapRequest {
  return {
    layers: [tiles],
    bounds: { minX: -180, minY: -90, maxX: 180, maxY: 90 },
    width: 1200,
    height: 600,
    format: format('image/png'),
    background: null,
    signal: new AbortController().signal,
    ...changes,
  };
}

/** A pipeline that holds every reader back until it is released. */
function heldPipeline() {
  const waiting: (() => void)[] = [];
  const { read, reads } = slopingTiles();
  const held: TilePipeline['read'] = async (...args) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return read(...args);
  };
  return { read: held, waiting, reads };
}

const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe('composing maps', () => {
  it('composing a map ends when the caller has gone, and reads no further tiles', async () => {
    const { read, waiting } = heldPipeline();
    const gone = new AbortController();
    const made = createMapComposer({ read }).compose(asked({ signal: gone.signal }));
    await turns(3);
    const begun = waiting.length;
    expect(begun).toBeGreaterThan(0);
    gone.abort(new Error('gone'));
    for (const goOn of waiting) goOn();
    await expect(made).rejects.toThrow('gone');
    await turns(20);
    expect(waiting).toHaveLength(begun);
  });

  it('composing maps makes one large map at a time, and small ones in the meantime', async () => {
    const { read, waiting } = heldPipeline();
    const composer = createMapComposer({ read });
    const gone = new AbortController();
    const large = asked({ width: 4096, height: 2048, signal: gone.signal });
    const made = [large, large, large].map((request) => composer.compose(request).catch(() => null));
    await turns(3);
    const ofOne = waiting.length;
    const small = asked({ width: 64, height: 32, signal: gone.signal });
    made.push(composer.compose(small).catch(() => null));
    await turns(3);
    expect(waiting.length).toBeGreaterThan(ofOne);
    expect(waiting.length).toBeLessThan(2 * ofOne);
    gone.abort();
    for (const goOn of waiting) goOn();
    await Promise.all(made);
  });
});

describe('a map of many layers', () => {
  const jpeg = resolveTileSet(bound, { gridSet: 'EPSG:4326', format: 'image/jpeg', parameters: new Map() });
  const many = (layer: typeof tiles, count: number) => Array.from({ length: count }, () => layer);

  it('a map whose layers have too many pixels together is refused, with how many layers it may have', async () => {
    const { read, reads } = slopingTiles();
    const composing = createMapComposer({ read }).compose(
      asked({ layers: many(tiles, 20), width: 4096, height: 4096 }),
    );
    await expect(composing).rejects.toThrow('at most 4 layers, not 20');
    expect(reads).toHaveLength(0);
  });

  it('a map draws a layer without transparency once, however often it is named', async () => {
    const { read, reads } = slopingTiles();
    const composer = createMapComposer({ read });
    const small = { width: 64, height: 32, format: format('image/jpeg') };
    const one = await composer.compose(asked({ ...small, layers: [jpeg] }));
    const ofOne = reads.length;
    const repeated = await composer.compose(asked({ ...small, layers: many(jpeg, 20) }));
    expect(repeated.digest).toBe(one.digest);
    expect(reads).toHaveLength(2 * ofOne);
  });

  it('a map draws a layer with transparency as often as it is named', async () => {
    const { read, reads } = slopingTiles();
    const composer = createMapComposer({ read });
    await composer.compose(asked({ width: 64, height: 32 }));
    const ofOne = reads.length;
    await composer.compose(asked({ layers: many(tiles, 3), width: 64, height: 32 }));
    expect(reads).toHaveLength(4 * ofOne);
  });

  it('a map is made of tiles that have at most 128 Mi pixels, all layers together', () => {
    const place = { bounds: { minX: -180, minY: -90, maxX: 180, maxY: 90 }, width: 1800, height: 900 };
    const pixels = (layers: number) => {
      const plan = planMap(tiles.subset, place, layers);
      return plan ? layers * sizeOfRect(plan.layer.rect) * tiles.subset.gridSet.tileWidth ** 2 : 0;
    };
    expect(pixels(20)).toBeLessThanOrEqual(128 * 1024 * 1024);
  });

  it('a map is given up when it takes longer than a source may', async () => {
    const { read, waiting } = heldPipeline();
    const clock = createVirtualClock();
    const made = createMapComposer({ read }, undefined, clock).compose(asked());
    const refused = expect(made).rejects.toMatchObject({ code: 'source-timeout' });
    await turns(3);
    clock.advance(60_000);
    for (const goOn of waiting) goOn();
    await refused;
  });
});

describe('a notice', () => {
  it('a notice is drawn once for all callers who want the same, and not for one who has gone', async () => {
    const paint = createNoticePainter();
    const { signal } = new AbortController();
    const notice = { text: 'No.', width: 300, height: 200, format: format('image/png'), background: null };
    const [one, other] = await Promise.all([paint(notice, signal), paint(notice, signal)]);
    expect(other).toBe(one);
    expect(await paint(notice, signal)).toBe(one);
    await expect(paint({ ...notice, text: 'Gone.' }, AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    );
  });
});
