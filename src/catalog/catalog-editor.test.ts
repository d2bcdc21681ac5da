import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { collect, tile, tilesIn } from '../../test/contracts/tile-store-tools.ts';
import { openTestDatabase } from '../../test/fixtures/databases.ts';
import type { Database } from '../db/database.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { createGridSetRegistry, type GridSet } from '../domain/grid-set.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import type { Store } from '../storage/store.ts';
import { boundLayer, openCatalog, tileSetIn } from './catalog.ts';
import { createCatalogEditor } from './catalog-editor.ts';
import { createCatalogEntries, type PendingCleanup } from './catalog-entries.ts';
import { DeclaredEntries } from './declared-entries.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import { createTileRecords } from './tile-records.ts';

interface Declared {
  readonly name: string;
  readonly source: unknown;
  readonly transient?: boolean;
  readonly gridSets?: LayerDeclaration['gridSets'];
}

const NAMES = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const change = { by: 'admin', dryRun: false };

let folder: string;
let database: Database;
let store: Store;

/** A node: its own catalog and editor on the database and store that all share. */
async function openNode(layers: readonly LayerDeclaration<unknown>[] = []) {
  const gridSets = createGridSetRegistry(builtInGridSets());
  const stores = new Map([['default', store]]);
  const openSource = () => ({
    maxMetatile: null,
    fetch: () => Promise.reject(new Error()),
    close: async () => {},
  });
  const catalog = openCatalog<unknown>({
    layers,
    gridSets,
    stores,
    openSource,
    clock: systemClock,
    log: silentLogger,
  });
  const entries = createCatalogEntries(database, systemClock);
  const reader = {
    layer: (document: unknown) => declaration(document as Declared),
    gridSet: (document: unknown): GridSet => ({
      ...(builtInGridSets()[0] as GridSet),
      ...(document as GridSet),
    }),
    shown: (document: unknown) => document,
    restored: (document: unknown) => document,
  };
  const declared = new DeclaredEntries({ entries, catalog, reader: async () => reader, log: silentLogger });
  const cleared: string[] = [];
  const waits = { announce: async (): Promise<void> => {}, clear: async (): Promise<void> => {} };
  const records = createTileRecords({ entries, catalog, clock: systemClock });
  return {
    records,
    waits,
    cleared,
    entries,
    refresh: () => declared.refresh(),
    applyConfigFile: (layer: Declared) => declared.applyConfigFile([declaration(layer)], gridSets.gridSets),
    editor: createCatalogEditor({
      catalog,
      entries,
      declared,
      reader,
      changed: async () => {},
      records,
      admit: () => {},
      parameters: { values: async () => new Map() },
      gridSetDocuments: () => new Map(),
      log: silentLogger,
      announce: (): Promise<void> => waits.announce(),
      dependentsOf: async () => ({ task: 7, schedule: 3 }),
      async clear(layer: string, { task }: PendingCleanup) {
        await waits.clear();
        cleared.push(`${layer} up to ${task}`);
      },
    }),
    /** The tile set as this node reads and writes it. */
    set(layer = 'roads', gridSet = NAMES.gridSet) {
      const set = tileSetIn(boundLayer(catalog, layer), { ...NAMES, layer, gridSet });
      if (!set) throw new Error('nothing is kept');
      return set;
    },
  };
}

function declaration({ name, source, ...more }: Declared): LayerDeclaration<unknown> {
  return {
    ...({ name, source, document: { name, source, ...more } } as LayerDeclaration<unknown>),
    formats: ['image/png'],
    gridSets: more.gridSets ?? ['EPSG:900913'],
    metatile: [4, 4],
    parameters: [],
    store: 'default',
    adopt: [],
    legends: [],
    requestFilters: [],
    wmsCrs: [],
    updateSources: [],
    expireCache: 0,
    expireClients: 0,
  };
}

const red = { name: 'roads', source: 'red' };
const blue = { name: 'roads', source: 'blue' };
const all = async () =>
  (
    await Promise.all((await tileSetsIn(store, 'roads')).map((set) => collect(tilesIn(store, set, 3))))
  ).flat();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-editor-'));
  database = await openTestDatabase(folder);
  store = createMemoryStore({ type: 'memory' });
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

describe('a layer that is deleted through a node', () => {
  it('a deleted layer leaves nothing to the next of that name when its node dies before the others notice', async () => {
    const [a, b] = [await openNode(), await openNode()];
    await a.editor.put('layer', red, change);
    await store.put(a.set(), 3, [tile(1, 1, 'red')], 0);
    a.waits.announce = () => new Promise(() => {});
    void a.editor.remove('layer', 'roads', change);
    await expect.poll(async () => await b.refresh().then(() => b.editor.show('layer', 'roads'))).toBeNull();
    await b.editor.put('layer', blue, change);
    expect(await store.get(b.set(), { z: 3, x: 1, y: 1 })).toBeNull();
    // What the dead node has left undone is done before the name is used again.
    expect(b.cleared).toEqual(['roads up to 7']);
    expect(await all()).toEqual([]);
  });

  it('a deleted layer leaves the tiles of the next of that name alone when its node was only halted', async () => {
    const [a, b] = [await openNode(), await openNode()];
    await a.editor.put('layer', red, change);
    await store.put(a.set(), 3, [tile(1, 1, 'red')], 0);
    const late = a.set();
    let wake = () => {};
    a.waits.announce = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const removal = a.editor.remove('layer', 'roads', change);
    await expect.poll(async () => await b.refresh().then(() => b.editor.show('layer', 'roads'))).toBeNull();
    await b.editor.put('layer', blue, change);
    await store.put(b.set(), 3, [tile(1, 1, 'blue'), tile(2, 1, 'blue')], 0);
    wake();
    await removal;
    expect(await all()).toHaveLength(2);
    // What the stopped node was storing is unreachable.
    await store.put(late, 3, [tile(1, 1, 'red')], 0);
    expect((await store.get(b.set(), { z: 3, x: 1, y: 1 }))?.bytes.toString()).toBe('blue');
  });
});

describe('what a deleted layer leaves', () => {
  it('dependents of a deletion between the read and the write of a declaration are cleared', async () => {
    const [a, b] = [await openNode(), await openNode()];
    await a.editor.put('layer', red, change);
    await b.refresh();
    a.waits.announce = () => new Promise(() => {});
    const write = database.transaction.bind(database);
    vi.spyOn(database, 'transaction').mockImplementationOnce(async (...transaction) => {
      void a.editor.remove('layer', 'roads', change);
      await expect.poll(() => a.editor.show('layer', 'roads')).toBeNull();
      return write(...transaction);
    });
    await b.editor.put('layer', blue, change);
    expect(b.cleared).toEqual(['roads up to 7']);
  });

  it('dependents of a temporary layer are cleared by the next start when the first one dies', async () => {
    const a = await openNode();
    await a.editor.put('layer', { ...red, transient: true }, change);
    a.waits.clear = () => Promise.reject(new Error('killed'));
    await expect(a.editor.finish(true)).rejects.toThrow('killed');
    const b = await openNode();
    await b.editor.finish(true);
    expect(b.cleared).toEqual(['roads up to 7']);
  });
});

it.each(['put', 'putFollowed'] as const)(
  'a layer by %s keeps tiles when another node changes its grid set at the same time',
  async (way) => {
    const [a, b] = [await openNode(), await openNode()];
    const gridSet = { name: 'own', aliases: [], tileWidth: 256 };
    await a.editor.put('grid-set', gridSet, change);
    await b.refresh();
    const layer = { ...red, gridSets: ['own'] };
    const write = database.transaction.bind(database);
    vi.spyOn(database, 'transaction').mockImplementationOnce(async (...transaction) => {
      await a.editor.put('grid-set', { ...gridSet, tileWidth: 512 }, change);
      return write(...transaction);
    });
    const followed = { name: 'roads', next: async () => layer, also: async () => {}, refused() {} };
    if (way === 'put') await b.editor.put('layer', layer, change);
    else await b.editor.putFollowed([followed], 'server');
    await a.refresh();
    expect(a.set('roads', 'own')).toEqual(b.set('roads', 'own'));
  },
);

it('a grid set keeps tiles of a layer that another node declares on it at the same time', async () => {
  const [a, b] = [await openNode(), await openNode()];
  const gridSet = { name: 'own', aliases: [], tileWidth: 256 };
  await a.editor.put('grid-set', gridSet, change);
  await b.refresh();
  const write = database.transaction.bind(database);
  vi.spyOn(database, 'transaction').mockImplementationOnce(async (...transaction) => {
    await b.editor.put('layer', { ...red, gridSets: ['own'] }, change);
    return write(...transaction);
  });
  await a.editor.put('grid-set', { ...gridSet, tileWidth: 512 }, change);
  expect(a.set('roads', 'own').incarnation).toBeDefined();
});

describe('a layer of two configuration files', () => {
  it('a file that is read again and declares a layer of the database is a warning, once', async () => {
    const node = await openNode();
    await node.editor.put('layer', red, change);
    const warn = vi.spyOn(silentLogger, 'warn');
    onTestFinished(() => warn.mockRestore());
    node.applyConfigFile(blue);
    node.applyConfigFile({ ...blue, transient: true });
    expect(warn.mock.calls).toEqual([[{ layer: 'roads' }, expect.stringContaining('the file is used')]]);
  });

  it('tiles of each file are its own when both nodes start together on an empty database', async () => {
    const [a, b] = [await openNode([declaration(red)]), await openNode([declaration(blue)])];
    await Promise.all([a.refresh(), b.refresh()]);
    await a.records.declareAll();
    await a.refresh();
    await store.put(a.set(), 3, [tile(1, 1, 'red')], 0);
    await b.records.declareAll();
    await b.refresh();
    expect(await store.get(b.set(), { z: 3, x: 1, y: 1 })).toBeNull();
    await a.refresh();
    expect(await store.get(a.set(), { z: 3, x: 1, y: 1 })).not.toBeNull();
  });
});

describe('a layer that is drawn from another one', () => {
  const above = { name: 'above', source: { type: 'layer', layer: 'roads' } };
  const top = { name: 'top', source: { type: 'layer', layer: 'above' } };
  const place = { z: 3, x: 1, y: 1 };

  async function threeLayers() {
    const [a, b] = [await openNode(), await openNode()];
    for (const layer of [red, above, top]) await a.editor.put('layer', layer, change);
    for (const name of ['above', 'top']) await store.put(a.set(name), 3, [tile(1, 1, name)], 0);
    await b.refresh();
    return { a, b };
  }

  it.each(['above', 'top'])('no tile of %s drawn from a former source below is shown', async (name) => {
    const { a, b } = await threeLayers();
    expect(await store.get(b.set(name), place)).not.toBeNull();
    const { tileSets } = await a.editor.put('layer', blue, { ...change, dryRun: true });
    expect(tileSets.map(({ set, fate, tiles }) => [set.layer, fate, tiles])).toEqual([
      ['above', 'stale', 1],
      ['top', 'stale', 1],
    ]);
    await a.editor.put('layer', blue, change);
    await b.refresh();
    expect(await store.get(a.set(name), place)).toBeNull();
    expect(b.set(name)).toEqual(a.set(name));
    await a.editor.put('layer', red, change);
    expect(await store.get(a.set(name), place)).not.toBeNull();
  });

  it('a layer drawn from another keeps or loses its tiles with those below', async () => {
    const { a } = await threeLayers();
    const before = a.set('top');
    await a.editor.put('layer', blue, { ...change, tiles: 'keep' });
    expect(a.set('top')).toEqual(before);
    await a.editor.put('layer', { ...blue, source: 'green' }, { ...change, tiles: 'drop' });
    expect(await tileSetsIn(store, 'above')).toEqual([]);
    expect(await tileSetsIn(store, 'top')).toEqual([]);
  });

  it('a layer drawn from another keeps nothing while that one is removed, and starts again with the next', async () => {
    const late = await openNode();
    await late.editor.put('layer', red, change);
    const { a } = await threeLayers();
    await expect(a.editor.remove('layer', 'roads', change)).rejects.toThrow(
      'Tiles of layers above, top are drawn from the layer roads; remove or change that first.',
    );
    // This node has not seen the layers above yet.
    await late.editor.remove('layer', 'roads', change);
    await a.refresh();
    expect(() => a.set('top')).toThrow('nothing is kept');
    await a.editor.put('layer', red, change);
    expect(await store.get(a.set('top'), place)).toBeNull();
  });

  it('a layer keeps tiles drawn from another grid set below when a node collects that does not know it yet', async () => {
    const [a, b] = [await openNode(), await openNode()];
    await a.editor.put('layer', { ...red, gridSets: ['EPSG:4326'] }, change);
    await a.editor.put('layer', above, change);
    a.set('above');
    await b.refresh();
    await b.editor.put('layer', { ...red, gridSets: ['EPSG:4326', 'EPSG:900913'] }, change);
    await store.put(b.set('above'), 3, [tile(1, 1, 'above')], 0);
    await a.records.collect('above');
    expect(await store.get(b.set('above'), place)).not.toBeNull();
  });

  it('a layer drawn from itself in a circle keeps nothing', async () => {
    const { a } = await threeLayers();
    await a.editor.put('layer', { name: 'roads', source: { type: 'layer', layer: 'top' } }, change);
    expect(() => a.set('top')).toThrow('nothing is kept');
  });
});

it('other work is done while thousands of declarations are read', async () => {
  const node = await openNode();
  const changes = Array.from({ length: 1200 }, (_, at) => {
    const name = `layer-${at}`;
    return { kind: 'layer', name, document: { name, source: at }, changedBy: 'follow:city' } as const;
  });
  await node.entries.addAll(changes);
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  await node.refresh();
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(2);
  expect(await node.editor.show('layer', 'layer-1199')).not.toBeNull();
});
