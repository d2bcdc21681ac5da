import { describe, expect, it } from 'vitest';
import { PLAIN_LAYER } from '../../test/fixtures/layers.ts';
import { builtInGridSets } from './built-in-grid-sets.ts';
import { type Format, formatOf, formatOfExtension } from './format.ts';
import { createGridSetRegistry } from './grid-set.ts';
import { createGridSubset } from './grid-subset.ts';
import { formatOfLayer, gridSubsetOf, type Layer } from './layer.ts';

const registry = createGridSetRegistry(builtInGridSets());

function needFormat(mediaType: string): Format {
  const format = formatOf(mediaType);
  if (!format) throw new Error(`no format ${mediaType}`);
  return format;
}

const layer: Layer = {
  ...PLAIN_LAYER,
  name: 'topp:states',
  title: 'States',
  formats: [needFormat('image/png'), needFormat('image/jpeg')],
  gridSubsets: [createGridSubset(registry.get('EPSG:900913')), createGridSubset(registry.get('EPSG:4326'))],
  expireClientsSeconds: 7200,
};

describe('a layer', () => {
  it('a layer offers its grid sets by name and by alias', () => {
    expect(gridSubsetOf(layer, 'EPSG:4326').gridSet.name).toBe('EPSG:4326');
    expect(gridSubsetOf(layer, 'EPSG:3857').gridSet.name).toBe('EPSG:900913');
  });

  it('a layer lists its grid sets when another is requested', () => {
    expect(() => gridSubsetOf(layer, 'WorldCRS84Quad')).toThrow(
      expect.objectContaining({
        code: 'grid-set-unknown',
        message: 'Layer topp:states has no grid set WorldCRS84Quad; it has EPSG:900913, EPSG:4326.',
      }),
    );
  });

  it('a layer offers its formats by media type and by extension', () => {
    expect(formatOfLayer(layer, 'image/png').mediaType).toBe('image/png');
    expect(formatOfLayer(layer, 'jpg').mediaType).toBe('image/jpeg');
    expect(formatOfLayer(layer, 'image/jpg').mediaType).toBe('image/jpeg');
  });

  it('a layer lists its formats when another is requested', () => {
    const refusal = (name: string) => ({
      code: 'format-unknown',
      message: `Layer topp:states has no format ${name}; it has image/png, image/jpeg.`,
    });
    for (const name of ['image/webp', 'webp', 'exe', 'image/nonsense']) {
      expect(() => formatOfLayer(layer, name)).toThrow(expect.objectContaining(refusal(name)));
    }
  });

  it('a layer repeats only the beginning of an endless name', () => {
    const endless = 'x'.repeat(8000);
    expect(() => gridSubsetOf(layer, endless)).toThrow(/^.{1,250}$/);
    expect(() => formatOfLayer(layer, endless)).toThrow(/^.{1,250}$/);
  });
});

describe('a format', () => {
  it.each([
    ['image/png', 'image/png'],
    ['IMAGE/PNG', 'image/png'],
    ['image/png; mode=24bit', 'image/png24'],
    ['image/png;mode=8bit', 'image/png8'],
    ['image/png; charset=binary', 'image/png'],
    ['image/jpg', 'image/jpeg'],
    ['image/jpg; q=0.8', 'image/jpeg'],
    ['image/webp', 'image/webp'],
    ['application/vnd.mapbox-vector-tile', 'application/vnd.mapbox-vector-tile'],
  ])('the format requested as %s is %s', (asked, mediaType) => {
    expect(formatOf(asked)?.mediaType).toBe(mediaType);
  });

  it.each(['', 'png', 'image/', 'image/bmp', 'text/html', 'application/vnd.mapbox-vector-tile; x=1', ';'])(
    '%j is not a format',
    (asked) => {
      expect(formatOf(asked)).toBeNull();
    },
  );

  it('a format is known by its extensions', () => {
    const known = ['png', 'png8', 'png24', 'jpeg', 'jpg', 'JPG', 'gif', 'webp', 'avif', 'pbf', 'mvt'];
    expect(known.map((extension) => formatOfExtension(extension)?.contentType)).toEqual([
      ...Array(3).fill('image/png'),
      ...Array(3).fill('image/jpeg'),
      'image/gif',
      'image/webp',
      'image/avif',
      ...Array(2).fill('application/vnd.mapbox-vector-tile'),
    ]);
    expect(formatOfExtension('bmp')).toBeNull();
  });
});
