import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collect, tile } from '../../test/contracts/tile-store-tools.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/open-database.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { createGridSetBook } from '../domain/grid-set-book.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { boundLayer, openCatalog, tileSetIn } from './catalog.ts';
import { createCatalogEditor } from './catalog-editor.ts';
import { createCatalogEntries, type Leftovers } from './catalog-entries.ts';
import { DeclaredEntries } from './declared-entries.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import { createTileRecords } from './tile-records.ts';

const NAMES = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const change = { by: 'admin', dryRun: false };

let folder: string;
let database: Database;
let store: TileStore;

/** A node: its own catalog and editor on the database and store that all share. */
async function openNode() {
  const gridSets = createGridSetBook(builtInGridSets());
  const stores = new Map([['default', store]]);
  const openSource = () => ({
    maxMetatile: null,
    fetch: () => Promise.reject(new Error()),
    close: async () => {},
  });
  const catalog = openCatalog<string>({
    layers: [],
    gridSets,
    stores,
    openSource,
    clock: systemClock,
    log: silentLogger,
  });
  const entries = createCatalogEntries(database, systemClock);
  const reader = {
    layer: (document: unknown) => declaration(document as { name: string; source: string }),
    gridSet: (): never => {
      throw new Error('no grid set is declared here');
    },
    shown: (document: unknown) => document,
    restored: (document: unknown) => document,
    hidesSecrets: () => false,
  };
  const declared = new DeclaredEntries({ entries, catalog, reader: async () => reader, log: silentLogger });
  const cleared: string[] = [];
  const waits = { announce: async (): Promise<void> => {} };
  return {
    waits,
    cleared,
    refresh: () => declared.refresh(),
    editor: createCatalogEditor({
      catalog,
      entries,
      declared,
      reader,
      records: createTileRecords({ entries, catalog, clock: systemClock }),
      admit: () => {},
      parameters: { values: async () => new Map() },
      gridSetDocuments: () => new Map(),
      log: silentLogger,
      announce: (): Promise<void> => waits.announce(),
      belongings: async () => ({ task: 7, schedule: 3 }),
      clear: async (layer: string, { task }: Leftovers) => void cleared.push(`${layer} up to ${task}`),
    }),
    /** The tile set as this node reads and writes it. */
    set() {
      const set = tileSetIn(boundLayer(catalog, 'roads'), NAMES);
      if (!set) throw new Error('nothing is kept');
      return set;
    },
  };
}

function declaration({ name, source }: { name: string; source: string }): LayerDeclaration<string> {
  return {
    ...({ name, source, document: { name, source } } as LayerDeclaration<string>),
    formats: ['image/png'],
    gridSets: ['EPSG:900913'],
    metatile: [4, 4],
    parameters: [],
    store: 'default',
    adopt: [],
    legends: [],
    requestFilters: [],
    expireCache: 0,
    expireClients: 0,
    blankIsRight: false,
  };
}

const red = { name: 'roads', source: 'red' };
const blue = { name: 'roads', source: 'blue' };
const all = async () =>
  (
    await Promise.all((await collect(store.tileSets('roads'))).map((set) => collect(store.tiles(set, 3))))
  ).flat();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-editor-'));
  database = await openDatabase({ location: join(folder, 'test.db'), clock: systemClock, log: silentLogger });
  store = createMemoryStore({ type: 'memory' });
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

describe('a layer that is deleted through a node', () => {
  it('leaves nothing to the next layer of that name when the node dies before the others know of it', async () => {
    const [a, b] = [await openNode(), await openNode()];
    await a.editor.put('layer', red, change);
    await store.putMany(a.set(), 3, [tile(1, 1, 'red')], 0);
    a.waits.announce = () => new Promise(() => {});
    void a.editor.remove('layer', 'roads', change);
    await expect.poll(async () => await b.refresh().then(() => b.editor.show('layer', 'roads'))).toBeNull();
    await b.editor.put('layer', blue, change);
    expect(await store.get(b.set(), { z: 3, x: 1, y: 1 })).toBeNull();
    // What the dead node has left undone is done before the name is used again.
    expect(b.cleared).toEqual(['roads up to 7']);
    expect(await all()).toEqual([]);
  });

  it('keeps the tiles of the next layer of that name when the node was only stopped, and goes on', async () => {
    const [a, b] = [await openNode(), await openNode()];
    await a.editor.put('layer', red, change);
    await store.putMany(a.set(), 3, [tile(1, 1, 'red')], 0);
    const late = a.set();
    let wake = () => {};
    a.waits.announce = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const removal = a.editor.remove('layer', 'roads', change);
    await expect.poll(async () => await b.refresh().then(() => b.editor.show('layer', 'roads'))).toBeNull();
    await b.editor.put('layer', blue, change);
    await store.putMany(b.set(), 3, [tile(1, 1, 'blue'), tile(2, 1, 'blue')], 0);
    wake();
    await removal;
    expect(await all()).toHaveLength(2);
    // What the stopped node was storing is unreachable.
    await store.putMany(late, 3, [tile(1, 1, 'red')], 0);
    expect((await store.get(b.set(), { z: 3, x: 1, y: 1 }))?.bytes.toString()).toBe('blue');
  });
});
