import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sourceRequest } from '../../../test/contracts/tile-source.ts';
import { builtInGridSet } from '../../../test/fixtures/layers.ts';
import { sourceToolsWith } from '../../../test/fixtures/source-tools.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { boundsOfRect } from '../../domain/grid-set.ts';
import { createGridSubset, retinaSubset } from '../../domain/grid-subset.ts';
import { createNamedArea, type NamedArea } from '../../domain/named-area.ts';
import type { SourceDriver } from '../source-driver.ts';
import type { ReadableLayer, SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import { createLayersDriver } from './layers-source.ts';

const MERCATOR = builtInGridSet('EPSG:900913');

type Rgba = readonly [number, number, number, number];
interface FakeSource {
  readonly type: 'fake';
  readonly name: string;
}

const RED: Rgba = [255, 0, 0, 255];
const BLUE: Rgba = [0, 0, 255, 255];
const WHITE: Rgba = [255, 255, 255, 255];
const NOTHING: Rgba = [0, 0, 0, 0];

/** Layers of one colour, by name. `stale-…`: no longer fresh; `broken`: fails; `damaged`: has tiles that are no pictures. */
const COLOURS: Readonly<Record<string, Rgba>> = {
  red: RED,
  blue: BLUE,
  white: WHITE,
  almostWhite: [250, 255, 246, 255],
  glass: [0, 0, 255, 128],
  'stale-blue': BLUE,
};

const requests: string[] = [];
let areas: ReadonlyMap<string, NamedArea> = new Map();
const open: TileSource[] = [];
afterEach(async () => {
  requests.length = 0;
  for (const source of open.splice(0)) await source.close();
});

function layerOf(name: string): ReadableLayer | null {
  const colour = COLOURS[name];
  if (!colour && name !== 'broken' && name !== 'damaged') return null;
  return {
    subsets: [createGridSubset(MERCATOR)],
    async tile(_, { z, x, y }) {
      requests.push(`${name} ${z}/${x}/${y}`);
      if (name === 'damaged') return { bytes: Buffer.alloc(0), stale: false };
      if (!colour) throw new TilewardenError('source-timeout', 'The map source did not answer in time.');
      return { bytes: filled(256, 256, colour), stale: name.startsWith('stale') };
    },
    ...(name !== 'white' && { info: async () => ({ bytes: Buffer.from(name), mediaType: 'text/plain' }) }),
  };
}

const fakeDriver: SourceDriver<FakeSource> = {
  type: 'fake',
  options: z.strictObject({ type: z.literal('fake'), name: z.string() }),
  shown: [],
  connection: [],
  pictures: 'drawn',
  passesCredentials: false,
  queryable: false,
  open: ({ name }) => ({
    maxMetatile: name === 'single' ? { columns: 1, rows: 1 } : null,
    async fetch({ width, height, format }): Promise<SourceResult> {
      requests.push(`${name} ${width}x${height} ${format.mediaType}`);
      if (name === 'empty') return { kind: 'nothing' };
      if (name === 'broken') throw new TilewardenError('source-unavailable', 'The map server is down.');
      const bytes = filled(width, height, COLOURS[name] ?? RED);
      return { kind: 'encoded', bytes, mediaType: 'image/png', freshSeconds: name === 'blue' ? 60 : 90 };
    },
    async close() {},
  }),
};

const driver = createLayersDriver(fakeDriver.options, () => fakeDriver);

function drawing(of: readonly object[]): TileSource {
  const options = driver.options.parse({ type: 'layers', of });
  const source = driver.open(options, sourceToolsWith(layerOf, areas));
  open.push(source);
  return source;
}

function filled(width: number, height: number, colour: Rgba): Buffer {
  return Buffer.alloc(4 * width * height, Buffer.from(colour));
}

function request(more: Partial<SourceRequest> = {}, z = 5): SourceRequest {
  const rect = { minX: 16, minY: 10, maxX: 17, maxY: 10 };
  return {
    ...sourceRequest({ gridSet: MERCATOR }),
    gridSet: MERCATOR,
    metatile: { z, column: 0, row: 0, rect },
    bounds: boundsOfRect(MERCATOR, z, rect),
    width: 512,
    height: 256,
    ...more,
  };
}

/** Of a picture that has it everywhere. */
async function colourOf(of: readonly object[], more: Partial<SourceRequest> = {}, z = 5): Promise<Rgba> {
  const answer = await drawing(of).fetch(request(more, z));
  if (answer.kind !== 'pixels') return NOTHING;
  const [red = 0, green = 0, blue = 0, alpha = 0] = answer.pixels;
  expect(answer.pixels.equals(filled(512, 256, [red, green, blue, alpha]))).toBe(true);
  return [red, green, blue, alpha];
}

const part = (layer: string, more: object = {}) => ({ layer, ...more });

describe('a composed picture', () => {
  it('the last part of a composed picture is on top', async () => {
    expect(await colourOf([part('red'), part('blue')])).toEqual(BLUE);
    expect(await colourOf([part('blue'), part('red')])).toEqual(RED);
  });

  it('an opaque part at half opacity is mixed with the one below', async () => {
    expect(await colourOf([part('red'), part('blue', { opacity: 0.5 })])).toEqual([128, 0, 128, 255]);
    expect(await colourOf([part('red'), part('blue', { opacity: 0.2 })])).toEqual([204, 0, 51, 255]);
    expect(await colourOf([part('red'), part('blue', { opacity: 0 })])).toEqual(RED);
  });

  it('opacity and transparency of a part multiply', async () => {
    expect(await colourOf([part('red'), part('glass', { opacity: 0.5 })])).toEqual([191, 0, 64, 255]);
  });

  it('the colour of a transparent part does not darken where nothing is below', async () => {
    expect(await colourOf([part('red', { opacity: 0.5 })])).toEqual([255, 0, 0, 128]);
    expect(await colourOf([part('glass'), part('glass')])).toEqual([0, 0, 255, 192]);
    expect(await colourOf([part('white', { opacity: 0.1 }), part('white', { opacity: 0.1 })])).toEqual([
      255, 255, 255, 49,
    ]);
  });

  it.each([
    [{ transparentColor: '#ffffff' }, 'white', RED],
    [{ transparentColor: '#FFF' }, 'white', RED],
    [{ transparentColor: '#ffffff' }, 'almostWhite', [250, 255, 246, 255]],
    [{ transparentColor: '#ffffff', tolerance: 8 }, 'almostWhite', [250, 255, 246, 255]],
    [{ transparentColor: '#ffffff', tolerance: 9 }, 'almostWhite', RED],
  ])('a transparent colour is left out within its tolerance: %#', async (options, over, expected) => {
    expect(await colourOf([part('red'), part(over, options)])).toEqual(expected);
    expect(await colourOf([part('red'), { source: { type: 'fake', name: over }, ...options }])).toEqual(
      expected,
    );
  });

  it('a part is drawn at its zooms only, and its tiles are not requested at others', async () => {
    const parts = [part('red'), part('blue', { zooms: [6, 8] })];
    expect(await colourOf(parts)).toEqual(RED);
    expect(requests.filter((one) => one.startsWith('blue'))).toEqual([]);
    for (const z of [6, 8]) expect(await colourOf(parts, {}, z)).toEqual(BLUE);
    expect(await colourOf(parts, {}, 9)).toEqual(RED);
    expect(await colourOf([part('blue', { zooms: [6, 8] })])).toEqual(NOTHING);
  });

  it('ranges of scales that follow each other leave no gap and do not overlap', async () => {
    const scale = MERCATOR.levels[6]?.scaleDenominator ?? 0;
    const written = Number(scale.toFixed(0));
    const parts = [part('red', { scales: [0, written] }), part('blue', { scales: [written, 1e9] })];
    expect(await colourOf(parts, {}, 5)).toEqual(BLUE);
    expect(await colourOf(parts, {}, 6)).toEqual(BLUE);
    expect(await colourOf(parts, {}, 7)).toEqual(RED);
    const { gridSet } = retinaSubset(createGridSubset(MERCATOR));
    expect(await colourOf(parts, { gridSet }, 6)).toEqual(BLUE);
  });

  it('a source as part is asked for PNG, whatever the tiles are, and promises what its parts promise', async () => {
    const of = [{ source: { type: 'fake', name: 'red' } }, { source: { type: 'fake', name: 'blue' } }];
    const answer = await drawing(of).fetch(request());
    expect(answer).toMatchObject({ kind: 'pixels', freshSeconds: 60 });
    expect(requests).toEqual(['red 512x256 image/png', 'blue 512x256 image/png']);
    expect(drawing(of).maxMetatile).toBeNull();
    expect(drawing([...of, { source: { type: 'fake', name: 'single' } }]).maxMetatile).toEqual({
      columns: 1,
      rows: 1,
    });
  });

  it('a picture with a stale part is stale', async () => {
    const answer = await drawing([part('red'), part('stale-blue')]).fetch(request());
    expect(answer).toMatchObject({ kind: 'pixels', stale: true });
    expect(await drawing([part('red')]).fetch(request())).toMatchObject({ stale: false });
  });

  it.each([part('broken'), part('damaged'), { source: { type: 'fake', name: 'broken' } }, part('gone')])(
    'a picture is drawn for clients without a part that fails, and says so: %#',
    async (broken) => {
      const parts = [part('red'), broken];
      expect(await drawing(parts).fetch(request())).toMatchObject({
        kind: 'pixels',
        stale: true,
        failure: expect.any(TilewardenError),
      });
      expect(await colourOf(parts)).toEqual(RED);
      await expect(drawing(parts).fetch(request({ priority: 'task' }))).rejects.toThrow(TilewardenError);
      await expect(drawing([broken]).fetch(request())).rejects.toThrow(TilewardenError);
      const beside = [{ source: { type: 'fake', name: 'empty' } }, broken];
      await expect(drawing(beside).fetch(request())).rejects.toThrow(TilewardenError);
    },
  );

  it('a part is drawn inside its area, with a smooth edge, and not requested where that is not', async () => {
    const { bounds } = request();
    const width = bounds.maxX - bounds.minX;
    const middle = bounds.minX + (width * 255.25) / 512;
    const half = createNamedArea('half', 3857, { bounds: { ...bounds, minX: middle } });
    const aside = createNamedArea('aside', 3857, {
      bounds: { ...bounds, minX: bounds.maxX + 1, maxX: bounds.maxX + 9 },
    });
    areas = new Map([half, aside].map((area) => [area.name, area]));
    const answer = await drawing([part('red'), part('blue', { within: 'half' })]).fetch(request());
    if (answer.kind !== 'pixels') throw new Error(answer.kind);
    const row = Array.from({ length: 4 }, (_, i) => [
      ...answer.pixels.subarray(4 * (254 + i), 4 * (254 + i) + 4),
    ]);
    expect(row).toEqual([[...RED], [64, 0, 191, 255], [...BLUE], [...BLUE]]);
    requests.length = 0;
    expect(await colourOf([part('red'), part('blue', { within: 'aside' })])).toEqual(RED);
    expect(requests.some((one) => one.startsWith('blue'))).toBe(false);
  });

  it.each([
    [{}, 'of.0 needs exactly one of layer and source'],
    [{ layer: 'a', source: { type: 'fake', name: 'a' } }, 'of.0 needs exactly one of layer and source'],
    [part('a', { zooms: [0, 3], scales: [1, 2] }), 'of.0.scales does not go with zooms'],
    [part('a', { zooms: [3, 1] }), 'of.0.zooms must have the smaller number first'],
    [part('a', { tolerance: 3 }), 'of.0.tolerance goes only with transparentColor'],
    [part('a', { opacity: 2 }), 'of.0.opacity'],
    [part('a', { transparentColor: 'white' }), 'of.0.transparentColor must be a colour like #FFFFFF'],
    [{ source: { type: 'fake', name: 'a' }, resampling: 'nearest' }, 'of.0.resampling goes only with layer'],
  ])('a part that cannot be meant is refused by its field: %#', (given, message) => {
    const parsed = driver.options.safeParse({ type: 'layers', of: [given] });
    const [first] = parsed.error?.issues ?? [];
    expect(`${first?.path.join('.')} ${first?.message}`).toContain(message);
  });
});

it('feature info of a composed picture is that of its parts which have some and are drawn there', async () => {
  const far = { layer: 'glass', zooms: [12, 14] };
  const source = drawing([{ layer: 'red' }, { layer: 'white' }, far, { layer: 'blue' }]);
  const info = await source.featureInfo?.({
    ...request(),
    ...{ i: 1, j: 1, infoFormat: 'text/plain', featureCount: 1 },
  });
  expect(info?.bytes.toString()).toBe('red\nblue\n');
});
