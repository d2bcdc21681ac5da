import fc from 'fast-check';
import { expect } from 'vitest';
import { falseIfOutdated, isTilewardenError } from '../../src/domain/errors.ts';
import { rectContains, rectOfTile, type TileRect } from '../../src/domain/tile-rect.ts';
import { pagesIn, presentTiles } from '../../src/storage/read-tiles.ts';
import type { MarkEffect, Store, TilePlace } from '../../src/storage/store.ts';
import { closeMark, raise, recount, sortedPages } from './tile-store-tools.ts';

/** Nodes on one store: each holds tickets and removals for any time, and uses them late. */
export interface StoreNodes {
  readonly nodes: Store[];
  /** Replaces the process of a node by a new one. */
  reopen(node: number): Promise<void>;
  /** Answers of writes may be lost. */
  readonly loses?: boolean;
}

type OrderCommand =
  | { readonly type: 'take' | 'reopen'; readonly node: number }
  | {
      readonly type: 'put' | 'confirm';
      readonly node: number;
      readonly ticket: number;
      readonly x: number;
      readonly clock: number;
    }
  | {
      readonly type: 'truncate';
      readonly node: number;
      readonly minX: number;
      readonly width: number | null;
      /** The mark that readers obey from then on, before anything is removed. */
      readonly effect: MarkEffect['type'] | null;
    }
  | {
      readonly type: 'remove' | 'mark-stale' | 'close-mark';
      readonly node: number;
      readonly truncation: number;
    }
  | { readonly type: 'evict'; readonly node: number; readonly x: number };

interface ModelTile {
  readonly ticket: number;
  readonly content: string;
  readonly createdAt: number;
  readonly stale: boolean;
}

interface Truncation {
  readonly generation: number;
  readonly rect: TileRect;
  /** Null as soon as it is closed. */
  effect: MarkEffect['type'] | null;
}

const NODES = 2;
const SET = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const Z = 9;
/** Across the border of two bundles, in one row. */
const [FIRST_X, LAST_X] = [126, 129];
const ROW: TileRect = { minX: FIRST_X, minY: 5, maxX: LAST_X, maxY: 5 };
const STALE_AT = 5;

const node = fc.nat(NODES - 1);
const x = fc.integer({ min: FIRST_X, max: LAST_X });
/** Milliseconds since 1970: clocks that jump by seconds, minutes and days in both directions. */
const clock = fc.constantFrom(1, 10_000, 360_000, 86_400_000, 1_790_000_000_000);

const orderCommand: fc.Arbitrary<OrderCommand> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('take' as const), node }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant('put' as const), node, ticket: fc.nat(9), x, clock }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('confirm' as const), node, ticket: fc.nat(9), x, clock }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('truncate' as const),
      node,
      minX: x,
      width: fc.option(fc.nat(2)),
      effect: fc.option(fc.constantFrom('hide' as const, 'outdate' as const)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('remove' as const, 'mark-stale' as const, 'close-mark' as const),
      node,
      truncation: fc.nat(9),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('evict' as const), node, x }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const), node }) },
);

export const orderCommands = fc.array(orderCommand, { minLength: 20, maxLength: 60, size: 'max' });
/** For stores that take long. */
export const fewOrderCommands = fc.array(orderCommand, { minLength: 8, maxLength: 16, size: 'max' });

/**
 * Runs the commands on nodes of a store and on a map. Every node shows the tile with the latest ticket
 * of each place, no tile that a truncation has removed, and every tile that was requested after it.
 */
export async function checkOrder(nodes: StoreNodes, commands: readonly OrderCommand[]): Promise<void> {
  const history = new History(nodes);
  for (const command of commands) {
    await history.carryOut(command);
    await history.compare();
  }
  await history.finish();
}

class History {
  readonly #nodes: StoreNodes;
  readonly #model = new Map<number, ModelTile>();
  readonly #tickets: number[] = [];
  readonly #truncations: Truncation[] = [];
  #writes = 0;

  constructor(nodes: StoreNodes) {
    this.#nodes = nodes;
  }

  async carryOut(command: OrderCommand): Promise<void> {
    const store = this.#store(command.node);
    switch (command.type) {
      case 'take':
        return this.#take(store);
      case 'put':
        return this.#put(store, command);
      case 'confirm':
        return this.#confirm(store, command);
      case 'truncate':
        return this.#truncate(store, command);
      case 'remove':
        return this.#remove(store, at(this.#truncations, command.truncation));
      case 'mark-stale':
        return this.#markStale(store, at(this.#truncations, command.truncation));
      case 'close-mark':
        return this.#closeMark(store, at(this.#truncations, command.truncation));
      case 'evict':
        await store.edit(SET, Z, rectOfTile({ x: command.x, y: ROW.minY }), { type: 'remove' });
        this.#model.delete(command.x);
        return;
      case 'reopen':
        return this.#nodes.reopen(command.node);
    }
  }

  async compare(): Promise<void> {
    for (const store of this.#nodes.nodes) {
      const shown: [number, ModelTile['content'], number, boolean][] = [];
      for (const { x: place } of await presentTiles(store, SET, Z, ROW, 0)) {
        const found = await store.get(SET, { z: Z, x: place, y: ROW.minY });
        if (!found) throw new Error('what is present can be read');
        shown.push([place, found.bytes.toString(), found.createdAt, (found.freshUntil ?? 0) < 0]);
      }
      const expected = [...this.#model].flatMap(([place, tile]) => {
        const marks = this.#marksOn(place, tile.ticket);
        if (marks.includes('hide')) return [];
        return [[place, tile.content, tile.createdAt, tile.stale || marks.includes('outdate')]];
      });
      expect(shown).toEqual(expected.toSorted(([a], [b]) => Number(a) - Number(b)));
    }
  }

  /** When all commands have ended, no tile is older than its truncation, and usage equals a recount. */
  async finish(): Promise<void> {
    for (const truncation of this.#truncations) await this.#remove(this.#store(0), truncation);
    await this.compare();
    for (const [place, { ticket }] of this.#model) {
      expect(ticket).toBeGreaterThanOrEqual(this.#generationAt(place));
    }
    const pages = [];
    for await (const page of pagesIn(this.#store(1), { set: SET })) pages.push(page);
    expect(sortedPages(pages)).toEqual(await recount(this.#store(1), SET));
  }

  async #take(store: Store): Promise<void> {
    const { number } = await store.ticket(SET.layer, place(ROW));
    const given = [...this.#tickets, ...this.#truncations.map(({ generation }) => generation)];
    expect(number).toBeGreaterThan(Math.max(0, ...given));
    this.#tickets.push(number);
  }

  async #put(store: Store, command: Extract<OrderCommand, { type: 'put' | 'confirm' }>): Promise<void> {
    const ticket = at(this.#tickets, command.ticket);
    if (ticket === null) return;
    const content = `${ticket} ${++this.#writes}`;
    const tile = { x: command.x, y: ROW.minY, bytes: Buffer.from(content), createdAt: command.clock };
    const stored = await store.put(SET, Z, [tile], ticket).catch((error: unknown) => {
      if (this.#nodes.loses && isTilewardenError(error, 'store-failed')) return null;
      return falseIfOutdated(error);
    });
    if (stored === null) return;
    const isOutdated = this.#generationAt(command.x) > ticket;
    expect(stored === false).toBe(isOutdated);
    if (isOutdated || (this.#model.get(command.x)?.ticket ?? 0) > ticket) return;
    this.#model.set(command.x, { ticket, content, createdAt: command.clock, stale: false });
  }

  async #confirm(store: Store, command: Extract<OrderCommand, { type: 'put' | 'confirm' }>): Promise<void> {
    const ticket = at(this.#tickets, command.ticket);
    if (ticket === null) return;
    const confirmed = { createdAt: command.clock, freshUntil: null, madeBy: null };
    const rect = rectOfTile({ x: command.x, y: ROW.minY });
    await store.edit(SET, Z, rect, { type: 'confirm', ...confirmed, ticket }).catch(falseIfOutdated);
    const present = this.#model.get(command.x);
    if (this.#generationAt(command.x) > ticket || !present || present.ticket > ticket) return;
    this.#model.set(command.x, { ...present, ticket, createdAt: command.clock, stale: false });
  }

  async #truncate(
    store: Store,
    { minX, width, effect }: Extract<OrderCommand, { type: 'truncate' }>,
  ): Promise<void> {
    const rect = width === null ? ROW : { ...ROW, minX, maxX: minX + width };
    const places = width === null ? undefined : [place(rect)];
    const mark = effect ? { type: effect, at: STALE_AT } : undefined;
    const generation = await raise(store, SET.layer, places, mark);
    expect(generation).toBeGreaterThan(Math.max(0, ...this.#tickets));
    this.#truncations.push({ generation, rect, effect });
  }

  /** As the clean-up does it: removes the tiles of the mark, then the mark. */
  async #closeMark(store: Store, truncation: Truncation | null): Promise<void> {
    if (!truncation?.effect) return;
    const clean = truncation.effect === 'hide' ? this.#remove : this.#markStale;
    await clean.call(this, store, truncation);
    await closeMark(store, truncation.generation);
    truncation.effect = null;
    const open = this.#truncations.filter(({ effect }) => effect);
    expect((await store.marks()).map(({ number }) => number)).toEqual(
      open.map(({ generation }) => generation),
    );
  }

  #marksOn(place: number, ticket: number): readonly (MarkEffect['type'] | null)[] {
    const here = this.#truncations.filter(
      ({ generation, rect }) => ticket < generation && rectContains(rect, place, ROW.minY),
    );
    return here.map(({ effect }) => effect);
  }

  async #remove(store: Store, truncation: Truncation | null): Promise<void> {
    if (!truncation) return;
    const { generation: before, rect } = truncation;
    await store.edit(SET, Z, rect, { type: 'remove', before });
    for (const [place, { ticket }] of this.#model) {
      if (rectContains(rect, place, ROW.minY) && ticket < before) this.#model.delete(place);
    }
  }

  async #markStale(store: Store, truncation: Truncation | null): Promise<void> {
    if (!truncation) return;
    const { generation: before, rect } = truncation;
    await store.edit(SET, Z, rect, { type: 'outdate', at: STALE_AT, before });
    for (const [place, tile] of this.#model) {
      const isMeant = rectContains(rect, place, ROW.minY) && tile.ticket < before;
      if (isMeant) this.#model.set(place, { ...tile, stale: true });
    }
  }

  #generationAt(place: number): number {
    const here = this.#truncations.filter(({ rect }) => rectContains(rect, place, ROW.minY));
    return Math.max(0, ...here.map(({ generation }) => generation));
  }

  #store(index: number): Store {
    const store = this.#nodes.nodes[index];
    if (!store) throw new RangeError(`There is no node ${index}.`);
    return store;
  }
}

function place(rect: TileRect): TilePlace {
  return { gridSet: SET.gridSet, z: Z, rect };
}

/** An entry, counted from the latest; null if there are none. */
function at<T>(all: readonly T[], index: number): T | null {
  return all.length === 0 ? null : (all[all.length - 1 - (index % all.length)] ?? null);
}
