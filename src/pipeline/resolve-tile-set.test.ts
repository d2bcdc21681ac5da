import { describe, expect, it } from 'vitest';
import { openPipelineHarness } from '../../test/fixtures/pipeline-harness.ts';
import { formatOf } from '../domain/format.ts';
import { retinaSubset } from '../domain/grid-subset.ts';
import { createParameterFilter } from '../domain/parameter-filter.ts';
import { checkTile, metatileSizeOf, resolveTileSet } from './resolve-tile-set.ts';

const filter = createParameterFilter({ name: 'STYLES', defaultValue: 'light', values: ['light', 'dark'] });
const { bound } = openPipelineHarness({ layer: { parameters: [filter] } }).tiles;
const defaults = { gridSet: null, format: null, parameters: new Map<string, string>() };

describe('naming a tile set', () => {
  it('a tile set has the layer’s defaults for omitted names', () => {
    const { set } = resolveTileSet(bound, defaults);
    expect(set).toEqual({ layer: 'roads', gridSet: 'small-tiles', format: 'image/png', parametersId: null });
  });

  it('a tile set is the same for all spellings of its names', () => {
    const plain = resolveTileSet(bound, defaults);
    expect(resolveTileSet(bound, { ...defaults, gridSet: 'small-tiles', format: 'png' })).toBe(plain);
    const spelled = resolveTileSet(bound, { ...defaults, parameters: new Map([['styles', 'light']]) });
    expect(spelled.set).toEqual(plain.set);
  });

  it('a tile set with other parameter values is another one', () => {
    const dark = resolveTileSet(bound, { ...defaults, parameters: new Map([['styles', 'dark']]) });
    expect(dark.set.parametersId).toMatch(/^[0-9a-f]{40}$/);
    expect(dark.selection.values.get('STYLES')).toBe('dark');
  });

  it('an unknown name in a tile set is refused with the existing ones', () => {
    expect(() => resolveTileSet(bound, { ...defaults, gridSet: 'EPSG:1' })).toThrow(/it has small-tiles/);
    expect(() => resolveTileSet(bound, { ...defaults, format: 'image/gif' })).toThrow(/it has image\/png/);
    const parameters = new Map([['STYLES', 'pink']]);
    expect(() => resolveTileSet(bound, { ...defaults, parameters })).toThrow(/light, dark/);
  });
});

describe('checking a tile', () => {
  const tiles = resolveTileSet(bound, defaults);

  it('a tile that the layer offers passes the check', () => {
    expect(() => checkTile(tiles, { z: 2, x: 3, y: 0 })).not.toThrow();
  });

  it.each([
    [{ z: 2, x: 4, y: 0 }],
    [{ z: 2, x: -1, y: 0 }],
    [{ z: 2, x: 0.5, y: 0 }],
    [{ z: 2, x: Number.NaN, y: 0 }],
    [{ z: -1, x: 0, y: 0 }],
    [{ z: 40, x: 0, y: 0 }],
  ])('a tile at %o is refused', (tile) => {
    expect(() => checkTile(tiles, tile)).toThrow(expect.objectContaining({ code: 'tile-outside' }));
  });
});

describe('the size of a metatile', () => {
  it('the size of a metatile is that of the layer, but no more than the source can answer', () => {
    expect(metatileSizeOf(openPipelineHarness().tiles)).toEqual({ columns: 4, rows: 4 });
    const narrow = openPipelineHarness({ maxMetatile: { columns: 8, rows: 1 } });
    expect(metatileSizeOf(narrow.tiles)).toEqual({ columns: 4, rows: 1 });
  });

  it('the size of a metatile is half each way for dense screens, so that sources draw as many pixels as ever', () => {
    const { tiles } = openPipelineHarness();
    const dense = (columns: number, rows: number) => {
      const layer = { ...tiles.bound.layer, metatile: { columns, rows } };
      return metatileSizeOf({
        ...tiles,
        bound: { ...tiles.bound, layer },
        subset: retinaSubset(tiles.subset),
      });
    };
    expect(dense(4, 4)).toEqual({ columns: 2, rows: 2 });
    expect(dense(5, 1)).toEqual({ columns: 2, rows: 1 });
  });

  it('the size of a metatile is one tile when tiles cannot be cut', () => {
    const vector = formatOf('pbf') ?? formatOf('application/vnd.mapbox-vector-tile');
    if (!vector) throw new Error('no vector tiles');
    expect(metatileSizeOf(openPipelineHarness({ layer: { formats: [vector] } }).tiles)).toEqual({
      columns: 1,
      rows: 1,
    });
  });
});
