import { describe, expect, it } from 'vitest';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { createGridSetRegistry } from '../domain/grid-set.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { Store } from '../storage/store.ts';
import { openCatalog } from './catalog.ts';
import type { LayerDeclaration } from './layer-declaration.ts';

const gridSets = createGridSetRegistry(builtInGridSets());
const store = {} as Store;

function declare(name: string, changes: Partial<LayerDeclaration<string>> = {}): LayerDeclaration<string> {
  return {
    name,
    document: null,
    enabled: true,
    advertised: true,
    transient: false,
    title: name,
    description: '',
    source: `source of ${name}`,
    store: 'default',
    formats: ['image/png', 'image/jpeg'],
    gridSets: [{ name: 'EPSG:3857', zoomStop: 5 }],
    metatile: [4, 2],
    gutter: 0,
    parameters: [],
    expireCache: 0,
    followSource: false,
    adopt: [],
    staleWhileRevalidate: 0,
    staleIfError: 604_800,
    expireClients: 60,
    access: 'public',
    onMiss: 'source',
    updateSources: [],
    attribution: '',
    keywords: [],
    metadata: [],
    outside: null,
    retina: false,
    fullWMS: false,
    wmsCrs: [],
    queryable: false,
    infoFormats: [],
    cacheBypass: false,
    passCredentials: false,
    legends: [],
    within: null,
    background: null,
    minScale: null,
    maxScale: null,
    areas: new Map(),
    requestFilters: [],
    ...changes,
  };
}

function open(layers: readonly LayerDeclaration<string>[]) {
  const opened: string[] = [];
  const closed: string[] = [];
  const openSource = (source: string): TileSource => {
    opened.push(source);
    return {
      maxMetatile: null,
      fetch: () => Promise.reject(new Error('nothing is fetched here')),
      close: async () => void closed.push(source),
    };
  };
  const stores = new Map([['default', store]]);
  return {
    catalog: openCatalog({ layers, gridSets, stores, openSource, clock: systemClock, log: silentLogger }),
    opened,
    closed,
  };
}

describe('a catalog', () => {
  it('a layer drawn from another is bound again with it, also by way of a third', () => {
    type Source = { readonly type: string; readonly layer?: string };
    const from = (name: string, below: string | null) => ({
      ...declare(name),
      source: (below ? { type: 'layer', layer: below } : { type: 'other' }) as Source,
    });
    const layers = [from('lower', null), from('upper', 'lower'), from('top', 'upper'), from('aside', null)];
    const openSource = () => {
      throw new Error('no source is opened here');
    };
    const stores = new Map([['default', store]]);
    const catalog = openCatalog({
      layers,
      gridSets,
      stores,
      openSource,
      clock: systemClock,
      log: silentLogger,
    });
    const names = layers.map(({ name }) => name);
    const before = names.map((name) => catalog.layer(name));
    catalog.setLayer('lower', () => from('lower', null));
    const isSame = names.map((name, at) => catalog.layer(name) === before[at]);
    expect(isSame).toEqual([false, false, false, true]);
  });

  it('the catalog joins a layer to its store and its source', () => {
    const { catalog } = open([declare('a')]);
    const bound = catalog.layer('a');
    expect(bound?.layer).toMatchObject({
      name: 'a',
      metatile: { columns: 4, rows: 2 },
      expireCacheSeconds: null,
      expireClientsSeconds: 60,
    });
    expect(bound?.layer.formats.map(({ mediaType }) => mediaType)).toEqual(['image/png', 'image/jpeg']);
    expect(bound?.layer.gridSubsets[0]).toMatchObject({ gridSet: { name: 'EPSG:900913' }, zoomStop: 5 });
    expect(bound?.store).toBe(store);
  });

  it('a layer is seen at its scales, the upper one excluded, with any end left open', () => {
    const zooms = (minScale: number | null, maxScale: number | null) => {
      const bound = open([declare('a', { minScale, maxScale })]).catalog.layer('a');
      return [bound?.layer.gridSubsets[0].shownStart, bound?.layer.gridSubsets[0].shownStop];
    };
    expect(zooms(null, null)).toEqual([0, 5]);
    expect(zooms(69_885_283, 279_541_132)).toEqual([2, 3]);
    expect(zooms(69_885_283, null)).toEqual([0, 3]);
    expect(zooms(null, 69_885_283)).toEqual([4, 5]);
    expect(() => zooms(1000, 500)).toThrow(
      'minScale 1000 and maxScale 500 show no zoom of grid set EPSG:900913',
    );
  });

  it('the catalog has no undeclared layer', () => {
    expect(open([declare('a')]).catalog.layer('b')).toBeNull();
    expect(open([declare('a')]).catalog.layer('__proto__')).toBeNull();
  });

  it('the catalog opens a source when it is first needed, once, and closes it in the end', async () => {
    const { catalog, opened, closed } = open([declare('a'), declare('b')]);
    const bound = catalog.layer('a');
    expect(opened).toEqual([]);
    expect(bound?.source()).toBe(catalog.layer('a')?.source());
    expect(opened).toEqual(['source of a']);
    await catalog.close();
    expect(closed).toEqual(['source of a']);
  });

  it('the catalog goes through its layers in the order of declaration', () => {
    const { catalog } = open([declare('b'), declare('a')]);
    expect([...catalog.layers()].map(({ name }) => name)).toEqual(['b', 'a']);
  });

  it('the catalog opens with ten thousand layers and makes only the requested ones', () => {
    const names = Array.from({ length: 10_000 }, (_, n) => `layer ${n}`);
    // A format that does not exist fails when, and only when, the layer is made.
    const layers = names.map((name, n) => declare(name, n === 7 ? {} : { formats: ['image/none'] }));
    const { catalog } = open(layers);
    expect(catalog.layer('layer 7')?.layer.name).toBe('layer 7');
    expect(() => catalog.layer('layer 8')).toThrow(/image\/none/);
  });

  it('the catalog takes a format or grid set that is named twice once, and refuses two that differ', () => {
    const named = (changes: Partial<LayerDeclaration<string>>) =>
      open([declare('a', changes)]).catalog.layer('a');
    const twice = named({
      formats: ['image/png', 'image/png', { type: 'image/png' }],
      gridSets: ['EPSG:3857', 'EPSG:900913', 'EPSG:4326'],
    });
    expect(twice?.layer.formats).toHaveLength(1);
    expect(twice?.layer.gridSubsets.map(({ gridSet }) => gridSet.name)).toEqual(['EPSG:900913', 'EPSG:4326']);
    expect(() => named({ gridSets: ['EPSG:900913', { name: 'EPSG:3857', zoomStop: 5 }] })).toThrow(
      'The grid set EPSG:900913 is declared twice with different settings.',
    );
    const styles = { default: 'a', values: ['a'] };
    expect(() =>
      named({
        parameters: [
          { ...styles, name: 'styles' },
          { ...styles, name: 'STYLES' },
        ],
      }),
    ).toThrow('The parameter STYLES is declared twice');
  });

  it('the catalog makes every kind of parameter filter', () => {
    const { catalog } = open([
      declare('a', {
        parameters: [
          { name: 'styles', default: 'A', values: ['a', 'b'], normalize: 'upper' },
          { name: 'filter', default: '', regex: '[a-z]+', normalize: 'none' },
          { name: 'elevation', default: '0', integers: [0, 100], threshold: 20 },
          { name: 'angle', default: '1.5', floats: [1.5, 2.5] },
        ],
      }),
    ]);
    const [styles, filter, elevation, angle] = catalog.layer('a')?.layer.parameters ?? [];
    expect(styles?.apply('b')).toBe('B');
    expect(filter?.apply('abc')).toBe('abc');
    expect(() => filter?.apply('ABC')).toThrow();
    expect(elevation?.apply('110')).toBe('100');
    expect(() => angle?.apply('2')).toThrow();
  });
});
