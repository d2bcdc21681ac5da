/**
 * Random histories of a cache: layers drawn from layers, former declarations, two processes with memory of their own on one
 * store, late sources, removals that overlap, that stop inside a step or whose answer is lost, a cleaner that is stopped, and
 * clocks that jump; on PostgreSQL also with lost answers to any statement that changes something. A read that begins after a removal was acknowledged never shows an older picture, nor one of another
 * declaration.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inLength, randomSeed } from '../../test/fixtures/length.ts';
import { describeOnMemoryObjects, losingStatements } from '../../test/fixtures/pack-stores.ts';
import { createGate } from '../../test/fixtures/pipeline-harness.ts';
import { PLAIN_LAYER } from '../../test/fixtures/plain-layer.ts';
import { type Command, commands, NAMES, PLACES, ZOOM } from '../../test/fixtures/removal-commands.ts';
import { type Shown, shownIn } from '../../test/fixtures/shown-pictures.ts';
import type { BoundLayer } from '../catalog/catalog.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { type Format, formatOf } from '../domain/format.ts';
import { createGridSet } from '../domain/grid-set.ts';
import { createGridSubset } from '../domain/grid-subset.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openTilePipeline } from '../pipeline/open-tile-pipeline.ts';
import { metatileWith, resolveTileSet } from '../pipeline/resolve-tile-set.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { MetatileCutter } from '../raster/metatile-cutter.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import { openSegmentStore } from '../storage/segments/segment-store.ts';
import type { Store } from '../storage/store.ts';
import { applyMark } from './cleaner.ts';
import type { RaisedMarks } from './removal.ts';
import { createRemovals, type Removals } from './removals.ts';

const SIZE = 16;
const EXTENT = { minX: -1000, minY: -1000, maxX: 1000, maxY: 1000 };
const GRID = { name: 'model', srs: 3857, extent: EXTENT, levels: 4, tileWidth: SIZE, tileHeight: SIZE };
const subset = createGridSubset(createGridSet(GRID));
const [LOWER] = NAMES;
const PNG = formatsOf('image/png');
const cutter = new MetatileCutter();

let stores: readonly Store[];
let histories = 0;
/** Whether answers of the database are lost, every third one. */
let isLosing = false;
let changes = 0;
const loses = () => isLosing && ++changes % 3 === 0;

/** What a read has to show at least, of each layer and place. */
interface Floor {
  readonly version: number;
  readonly layers: ReadonlySet<string>;
  /** Null: everywhere. */
  readonly place: number | null;
}

class History {
  /** Layers are this history's own: all share one store. */
  readonly #id = ++histories;
  #version = 1;
  #declaration = 1;
  #jumps = 0;
  #floors: Floor[] = [];
  #gates: ReturnType<typeof createGate>[] = [];
  readonly #held = [false, false];
  #pending: Promise<unknown>[] = [];
  #tasks: { readonly marks: RaisedMarks; readonly floor: Floor }[] = [];
  #bound = new Map<string, BoundLayer>();
  readonly #pipelines: readonly TilePipeline[];
  readonly #removals: readonly Removals[];
  /** Thrown by the next step of a removal. */
  #fault: { readonly after: 'raise' | 'forget'; readonly process: number } | null = null;

  constructor() {
    this.#pipelines = stores.map(() =>
      openTilePipeline({
        cutter,
        events: createTileEvents(),
        clock: this.#clock,
        random: () => 0.5,
        log: silentLogger,
      }),
    );
    this.#removals = stores.map((_, process) => this.#removalsOf(process));
  }

  get #clock() {
    return { ...systemClock, now: () => systemClock.now() + this.#jumps * 3_600_000 };
  }

  #name(layer: number): string {
    return `${NAMES[layer]} ${this.#id}`;
  }

  #layer(process: number, index: number): BoundLayer {
    const name = this.#name(index);
    const key = `${process} ${this.#declaration} ${name}`;
    const known = this.#bound.get(key);
    if (known) return known;
    const store = stores[process];
    const pipeline = this.#pipelines[process];
    if (!store || !pipeline) throw new RangeError('no such process');
    const declaration = this.#declaration;
    const below = index > 0 ? this.#layer(process, index - 1) : null;
    const incarnation = () => `${declaration}.model`;
    const source = {
      maxMetatile: null,
      fetch: async ({
        bounds,
        width,
        height,
        signal,
      }: {
        bounds: typeof EXTENT;
        width: number;
        height: number;
        signal: AbortSignal;
      }) => {
        const drawnAt = this.#version;
        const x = Math.round((bounds.minX - EXTENT.minX) / (2000 / 2 ** ZOOM));
        const shown = below
          ? await shownBy(pipeline, below, { z: ZOOM, x, y: 0 }, signal)
          : { declaration, version: drawnAt };
        if (!below && this.#held[process]) {
          const gate = createGate();
          this.#gates.push(gate);
          await gate.opened;
        }
        const pixel = Buffer.from([shown.declaration, shown.version, drawnAt, 255]);
        return { kind: 'pixels' as const, pixels: Buffer.alloc(width * height * 4, pixel), width, height };
      },
      async close() {},
    };
    const layer = {
      ...PLAIN_LAYER,
      name,
      formats: PNG,
      gridSubsets: [subset] as const,
      metatile: { columns: 1, rows: 1 },
    };
    const bound: BoundLayer = { layer, store, incarnation, source: () => source };
    this.#bound.set(key, bound);
    return bound;
  }

  #removalsOf(process: number): Removals {
    const own = stores[process];
    if (!own) throw new RangeError('no such process');
    const store: Store = {
      ...own,
      mark: async (change) => {
        const numbers = await own.mark(change);
        this.#fail('raise', process);
        return numbers;
      },
    };
    const names = NAMES.map((_, index) => this.#name(index));
    return createRemovals({
      catalog: {
        version: 1,
        layer: (name) => (names.includes(name) ? this.#layer(process, names.indexOf(name)) : null),
        layerNames: () => names,
        stores: () => new Map([['', store]]),
        declaration: (name) => {
          const index = names.indexOf(name);
          return { source: index > 0 ? { type: 'layer', layer: names[index - 1] } : {} } as never;
        },
        record: () => null,
      },
      pipeline: {
        forgetPlaces: (layer, places) => {
          this.#fail('forget', process);
          for (const pipeline of this.#pipelines) pipeline.forgetPlaces(layer, places);
        },
      },
      events: { emit() {} },
      obeyedByAll: async () => void (await nextTurn()),
      outdateFormer: async () => {},
      raised() {},
      clock: this.#clock,
    });
  }

  #fail(after: 'raise' | 'forget', process: number): void {
    if (this.#fault?.after !== after || this.#fault.process !== process) return;
    this.#fault = null;
    throw new Error('stopped');
  }

  /** The least version that a read has to show of this layer. */
  #leastAt(layer: number, place: number): number {
    const name = this.#name(layer);
    const here = this.#floors.filter((floor) => floor.layers.has(name) && (floor.place ?? place) === place);
    return Math.max(1, ...here.map(({ version }) => version));
  }

  async #read(process: number, layer: number, place: number): Promise<void> {
    const [pipeline, tile] = [this.#pipelines[process], PLACES[place]];
    if (!pipeline || !tile) throw new RangeError('no such tile');
    const [own, below, declaration] = [
      this.#leastAt(layer, place),
      this.#leastAt(0, place),
      this.#declaration,
    ];
    const shown = await shownBy(pipeline, this.#layer(process, layer), tile);
    expect(shown.declaration).toBe(declaration);
    expect(shown.version).toBeGreaterThanOrEqual(below);
    expect(shown.drawnAt).toBeGreaterThanOrEqual(own);
  }

  async #seed(
    process: number,
    layer: number,
    place: number,
    mode: 'missing' | 'all' = 'missing',
  ): Promise<void> {
    const [pipeline, tile] = [this.#pipelines[process], PLACES[place]];
    if (!pipeline || !tile) throw new RangeError('no such tile');
    const tiles = resolveTileSet(this.#layer(process, layer), NAMED);
    const metatile = metatileWith(tiles, tile);
    const { signal } = new AbortController();
    await pipeline.renew({ tiles, metatile, within: metatile.rect, mode, signal }).catch(isOvertaken);
  }

  async #remove({ process, layer, place, type, fate }: Extract<Command, { do: 'remove' }>): Promise<void> {
    const tile = PLACES[place];
    const rect = tile && { minX: tile.x, minY: tile.y, maxX: tile.x, maxY: tile.y };
    const places = rect ? [{ gridSet: GRID.name, z: ZOOM, rect }] : null;
    const removal = { layer: this.#name(layer), places, type };
    const above = NAMES.map((_, index) => this.#name(index)).slice(layer);
    const floor = { version: this.#version, layers: new Set(above), place: rect ? place : null };
    const removals = this.#removals[process];
    if (!removals) throw new RangeError('no such process');
    if (fate === 'stopped' || fate === 'lost') {
      this.#fault = { after: fate === 'lost' ? 'raise' : 'forget', process };
      await removals.remove([removal]).catch(() => {});
      this.#fault = null;
      return;
    }
    if (fate === 'task' && type === 'hide') {
      const marks = await removals.begin(removal).catch(orLost);
      if (!marks) return;
      this.#floors.push(floor);
      this.#tasks.push({ marks, floor });
      return;
    }
    const done = removals.remove([removal]).then(() => void this.#floors.push(floor));
    if (fate === 'overlaps') this.#pending.push(done.catch(() => {}));
    else await done.catch(orLost);
  }

  /** Tiles that the task has not removed may be shown again, and drawn from again. */
  async #kill(): Promise<void> {
    const [task] = this.#tasks;
    if (!task) return;
    const closed = await this.#removals[0]?.close(task.marks).then(() => true, orLost);
    // Whether its marks are closed is not known: reads may show either.
    this.#floors = this.#floors.filter((floor) => floor !== task.floor);
    if (!closed) return;
    this.#tasks.shift();
  }

  async #clean(process: number, stopped: boolean): Promise<void> {
    const store = stores[process];
    const ending = new AbortController();
    for (const mark of (await store?.marks()) ?? []) {
      if (!mark.layer.endsWith(` ${this.#id}`) || (mark.effect.byTask && this.#tasks.length > 0)) continue;
      if (stopped) ending.abort(new Error('stopped'));
      const sets = store ? await tileSetsIn(store, mark.layer) : [];
      if (store) await applyMark(store, mark, sets, ending.signal).catch(() => {});
    }
  }

  #release(): void {
    this.#held.fill(false);
    for (const gate of this.#gates.splice(0)) gate.open();
  }

  async #settle(): Promise<void> {
    this.#release();
    await Promise.all(this.#pending.splice(0));
  }

  async run(command: Command): Promise<void> {
    if (command.do === 'change') this.#version++;
    if (command.do === 'jump') this.#jumps += this.#jumps % 2 === 0 ? 5 : -3;
    if (command.do === 'hold') this.#held[command.process] = true;
    if (command.do === 'release') this.#release();
    if (command.do === 'settle') await this.#settle();
    if (command.do === 'kill') await this.#kill();
    if (command.do === 'switch') {
      await this.#settle();
      this.#declaration = 3 - this.#declaration;
    }
    if (command.do === 'clean') await this.#clean(command.process, command.stopped);
    if (command.do === 'remove') await this.#remove(command);
    if (command.do === 'read' || command.do === 'seed') {
      const { process, layer, place } = command;
      const work =
        command.do === 'read' ? this.#read(process, layer, place) : this.#seed(process, layer, place);
      this.#pending.push(work);
      if (this.#held[process]) await nextTurn();
      else await work;
    }
  }

  /** Everything obeys, also when all is cleaned up; and a seed after the last removal stays. */
  async end(): Promise<void> {
    await this.#settle();
    isLosing = false;
    for (const [process] of stores.entries()) {
      for (const layer of NAMES.keys())
        for (const place of PLACES.keys()) await this.#read(process, layer, place);
    }
    for (const place of PLACES.keys()) await this.#seed(0, 0, place, 'all');
    while (this.#tasks.length > 0) await this.#kill();
    await this.#clean(1, false);
    for (const place of PLACES) {
      const bound = this.#layer(1, NAMES.indexOf(LOWER));
      expect(await bound.store.get(resolveTileSet(bound, NAMED).set, place)).not.toBeNull();
    }
    for (const declaration of [1, 2]) {
      this.#declaration = declaration;
      for (const layer of NAMES.keys()) for (const place of PLACES.keys()) await this.#read(1, layer, place);
    }
    for (const pipeline of this.#pipelines) await pipeline.close();
  }
}

const NAMED = { gridSet: null, format: null, parameters: new Map<string, string>() };

function formatsOf(name: string): readonly [Format] {
  const format = formatOf(name);
  if (!format) throw new Error(`no ${name}`);
  return [format];
}

/** A removal came during the fetch. */
function isOvertaken(error: unknown): void {
  if ((error as { readonly code?: string }).code !== 'generation-stale') orLost(error);
}

/** Neither acknowledged nor refused. */
function orLost(error: unknown): null {
  if (isLosing && isTilewardenError(error, 'store-failed')) return null;
  throw error;
}

async function shownBy(
  pipeline: TilePipeline,
  bound: BoundLayer,
  tile: { readonly z: number; readonly x: number; readonly y: number },
  signal?: AbortSignal,
): Promise<Shown> {
  const { bytes } = await pipeline.read(resolveTileSet(bound, NAMED), tile, signal);
  return shownIn(bytes);
}

function obeysRemovals(where: string, losing: fc.Arbitrary<boolean>, numRuns: number): void {
  it(`a read after an acknowledged removal shows no older picture, whatever came in between, ${where}`, () =>
    fc.assert(
      fc.asyncProperty(commands, losing, async (history, isLost) => {
        const cache = new History();
        isLosing = isLost;
        for (const command of history) await cache.run(command);
        await cache.end();
      }),
      { numRuns, seed: randomSeed() },
    ));
}

describe('removals in segments', () => {
  let root: string;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'tilewarden-removals-'));
    const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29 };
    const open = () => openSegmentStore(options, { root, log: silentLogger, clock: systemClock });
    stores = [await open(), await open()];
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  obeysRemovals('in segments', fc.constant(false), inLength(60, 3000));
});

describeOnMemoryObjects('removals in PostgreSQL', (_, opened) => {
  beforeAll(async () => {
    const database = losingStatements(opened().database, loses);
    stores = [await opened().open('model', { database }), await opened().open('model', { database })];
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
  });
  obeysRemovals('in PostgreSQL', fc.boolean(), inLength(6, 3000));
});
