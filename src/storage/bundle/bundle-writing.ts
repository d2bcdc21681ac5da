import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { TilewardenError } from '../../domain/errors.ts';
import {
  blockAt,
  intersectRects,
  rectAround,
  rectsIn,
  sizeOfRect,
  type TileRect,
} from '../../domain/tile-rect.ts';
import { isNoRoom } from '../../lib/error-code.ts';
import {
  type MarkEffect,
  NO_CHANGE,
  negated,
  type StoreChange,
  sumOfChanges,
  type TileLimits,
  type TilePlace,
} from '../tile-store.ts';
import { BundleEditor, type FreshnessEdit, restBundle } from './bundle-editor.ts';
import { findBundleFile, makeBundleFile, removeBundleFile } from './bundle-file.ts';
import { BUNDLE_SIZE, coverOfBundle, rangesIn } from './bundle-grid.ts';
import { BundleIndex } from './bundle-index.ts';
import { type BundleAddress, type BundleLayout, bundleFolder, tileSetFolder } from './bundle-layout.ts';
import { writeMark } from './bundle-marks.ts';
import { type Generations, openGenerations, WRITER_TIMEOUT_MS } from './generations.ts';
import { DamagedBundle, isBusy, isRefused, storeFailure } from './sqlite-failure.ts';
import { type EditCommand, groupByBundle, type PutCommand } from './write-commands.ts';

/** Bundles open for writing at the same time. */
const MAX_EDITORS = 32;
/** Milliseconds without a write after which a bundle is closed, and its log removed. */
const IDLE_AFTER = 2000;
/** Bundles may be removed while they are being opened; more often than this is no coincidence. */
const ATTEMPTS = 20;

/** From before every change of the index. */
const NO_MARK = 0;

/** Null: no tiles. */
type WrittenPlace = Pick<PutCommand, 'set' | 'z'> & { readonly rect: TileRect | null };

/** `removed`: nothing was left, so the bundle itself was removed. */
interface EditResult {
  readonly change: StoreChange;
  readonly removed: boolean;
}

type OnDamage = (path: string, reason: string) => void;

/** The writing half of the store. It runs in its own thread, one command after another. */
export class BundleWriting {
  readonly #layout: BundleLayout;
  readonly #onDamage: OnDamage;
  readonly #generations: Generations;
  readonly #editors = new Map<string, BundleEditor>();
  #index: BundleIndex | null = null;
  /** Changes that could not be written to the index yet, by folder. */
  readonly #pendingChanges = new Map<string, (index: BundleIndex) => void>();

  constructor(layout: BundleLayout, onDamage: OnDamage) {
    this.#layout = layout;
    this.#onDamage = onDamage;
    this.#generations = openGenerations(layout, WRITER_TIMEOUT_MS);
  }

  /**
   * Takes the write locks of all bundles concerned, in an order that is the same in every process, and only then
   * looks at the generation. A truncation that raises it later finds these bundles in its listing and waits for
   * their locks; one that raised it before is seen here. So no tile outlives a truncation that it is older than.
   */
  put(command: PutCommand): StoreChange {
    return this.putTogether([command])[0] ?? NO_CHANGE;
  }

  /** Several share the transactions of their bundles: all of them are kept or, when one fails, none. */
  putTogether(commands: readonly PutCommand[]): readonly StoreChange[] {
    for (const command of commands) this.#checkPut(command);
    const puts = commands.map((command) => ({
      command,
      groups: groupByBundle(command, tileSetFolder(this.#layout, command.set)),
    }));
    const addresses = inOrder(puts.flatMap(({ groups }) => groups.map(({ address }) => address)));
    return this.#locked(addresses, true, (editors) => {
      const byFolder = new Map(addresses.map(({ folder }, at) => [folder, editors[at]]));
      return puts.map(({ command, groups }) => {
        this.#checkPut(command);
        return sumOfChanges(
          groups.map(
            ({ address, tiles }) =>
              byFolder.get(address.folder)?.put(tiles, command.ticket, command.at) ?? NO_CHANGE,
          ),
        );
      });
    });
  }

  edit(command: EditCommand): EditResult {
    const { edit } = command;
    if (edit.type !== 'remove') return { change: this.#freshen(command, edit), removed: false };
    try {
      return this.#remove(command, edit);
    } catch (error) {
      // A full disk has no room for a log. Removing the bundle as a whole needs none.
      if (!isNoRoom(error) || !isWhole(command, edit)) throw error;
      const { folder } = this.#addressOf(command);
      const path = findBundleFile(folder);
      // The index mostly has no room either: removed tiles are counted if it knows them.
      const { tiles, bytes } = this.#index?.countsOf(folder) ?? NO_CHANGE;
      return { change: { tiles, bytes }, removed: path !== null && this.#removeFile(path, false) };
    }
  }

  #remove(command: EditCommand, limits: TileLimits): EditResult {
    const { bundleX, bundleY, rect } = command;
    const address = this.#addressOf(command);
    const { folder } = address;
    let removed = false;
    const change = this.#locked([address], false, ([editor]) => {
      if (!editor) return NO_CHANGE;
      let deleted = NO_CHANGE;
      for (const part of partsOf(rect, limits)) {
        deleted = sumOfChanges([deleted, editor.delete([...coverOfBundle(bundleX, bundleY, part)], limits)]);
        if (editor.emptied) break;
      }
      removed = editor.emptied && removeBundleFile(this.#layout, editor.path);
      if (removed) this.#updateIndex(folder, () => editor.removed());
      return negated(deleted);
    });
    if (removed) this.#close(folder);
    else this.#syncIfMarked(folder, limits);
    return { change, removed };
  }

  #freshen(command: EditCommand, edit: FreshnessEdit): StoreChange {
    const address = this.#addressOf(command);
    const limits: TileLimits = edit.type === 'confirm' ? {} : edit;
    const change = this.#locked([address], false, ([editor]) => {
      if (edit.type === 'confirm') this.#checkGeneration(command, edit.ticket);
      const ranges = partsOf(command.rect, limits).flatMap((part) => rangesIn(command, part));
      return { tiles: editor?.freshen(ranges, edit) ?? 0, bytes: 0 };
    });
    this.#syncIfMarked(address.folder, limits);
    return change;
  }

  /**
   * The mark of a truncation or invalidation is closed afterwards. Also without a change: a process may have died between
   * its change and the sync. An eviction may be done again.
   */
  #syncIfMarked(folder: string, { before }: TileLimits): void {
    if (before !== undefined) this.#editors.get(folder)?.sync();
  }

  discardTile(path: string, key: number): StoreChange {
    return this.#editAlone(path, (editor) => editor.discard(key));
  }

  /** How wrong the page statistics were. Nothing is written when they are right. */
  recount(folder: string): StoreChange {
    const path = findBundleFile(folder);
    if (path === null) return NO_CHANGE;
    return this.#editAlone(path, (editor) => (editor.isCurrent() ? editor.recount() : NO_CHANGE));
  }

  /** A bundle that a process read while it was written; nothing to do while it is open here. */
  rest(path: string): void {
    if (this.#editors.has(dirname(path)) || !existsSync(path)) return;
    this.#removingDamage(() => restBundle(path, this.#indexed()));
  }

  discardBundle(path: string): boolean {
    return this.#removeFile(path, true);
  }

  raise(layer: string, places?: readonly TilePlace[] | null, effect?: MarkEffect): number {
    const number = this.#generations.raise(layer, places);
    if (effect) writeMark(this.#layout, { layer, number, effect, places: places ?? null });
    return number;
  }

  /** Of many whole layers, all or none. */
  raiseAll(layers: readonly string[]): number {
    return this.#generations.raiseAll(layers);
  }

  closeIdle(now: number): void {
    for (const [folder, editor] of this.#editors) {
      if (now - editor.usedAt > IDLE_AFTER || !editor.isCurrent()) this.#close(folder);
    }
    for (const [folder, change] of this.#pendingChanges) this.#updateIndex(folder, change);
  }

  /**
   * Before a folder of bundles is moved away; returns a mark for `closeBelow`, which follows. On a full disk, where a drop
   * makes room, the index is updated only afterwards.
   */
  dropping(folder: string): number {
    try {
      return this.#indexed().dropping(folder);
    } catch (error) {
      if (!isRefused(error)) throw error;
      return NO_MARK;
    }
  }

  closeBelow(folder: string, mark: number): void {
    for (const name of this.#editors.keys()) {
      if (name.startsWith(`${folder}/`)) this.#close(name);
    }
    this.#updateIndex(folder, (index) => index.dropped(folder, mark));
  }

  close(): void {
    for (const folder of this.#editors.keys()) this.#close(folder);
    this.#generations.close();
    this.#index?.close();
  }

  /** Opened when first needed: a disk that may only be read has none. */
  #indexed(): BundleIndex {
    if (this.#index) return this.#index;
    this.#index = new BundleIndex(this.#layout, WRITER_TIMEOUT_MS);
    this.#updateIndex('', (index) => index.forgetLongGone());
    return this.#index;
  }

  /** For removals, which succeed on a full disk too: the index is updated as soon as there is room. */
  #updateIndex(folder: string, change: (index: BundleIndex) => void): void {
    try {
      change(this.#indexed());
      this.#pendingChanges.delete(folder);
    } catch (error) {
      if (!isRefused(error) && !isBusy(error)) throw error;
      this.#pendingChanges.set(folder, change);
    }
  }

  #addressOf({ set, z, bundleX, bundleY }: Omit<BundleAddress, 'folder'>): BundleAddress {
    const folder = bundleFolder(tileSetFolder(this.#layout, set), z, bundleX, bundleY);
    return { set, z, bundleX, bundleY, folder };
  }

  /** The index lists it as open; the next look finds that it is gone. */
  #removeFile(path: string, isDamaged: boolean): boolean {
    this.#close(dirname(path));
    this.#updateIndex(dirname(path), (index) => index.opened(dirname(path)));
    return removeBundleFile(this.#layout, path, isDamaged);
  }

  /** Beside an editor of the same bundle that may be open here. */
  #editAlone(path: string, work: (editor: BundleEditor) => StoreChange): StoreChange {
    const change = this.#removingDamage(() => {
      const editor = BundleEditor.open(path, this.#indexed());
      if (!editor) return null;
      try {
        editor.begin();
        const done = work(editor);
        editor.commit();
        return done;
      } finally {
        editor.rollBackUnlessCommitted();
        editor.close();
      }
    });
    return change ?? NO_CHANGE;
  }

  #checkPut({ set, z, slots, ticket }: PutCommand): void {
    this.#checkGeneration({ set, z, rect: rectAround(slots) }, ticket);
  }

  #checkGeneration({ set, z, rect }: WrittenPlace, ticket: number): void {
    const { layer, gridSet } = set;
    if (this.#generations.read(layer, rect ? { gridSet, z, rect } : undefined) <= ticket) return;
    throw new TilewardenError('generation-stale', `Layer ${layer} was truncated since this was fetched.`);
  }

  /** Runs `work` in transactions on bundles that are in their place, and commits them all. */
  #locked<T>(
    addresses: readonly BundleAddress[],
    create: boolean,
    work: (editors: readonly (BundleEditor | undefined)[]) => T,
  ): T {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const change = this.#removingDamage(() => this.#attempt(addresses, create, work));
      if (change) return change;
      for (const { folder } of addresses) if (!this.#editors.get(folder)?.isCurrent()) this.#close(folder);
    }
    throw storeFailure(new Error('no bundle stays in place'));
  }

  /** Null if a bundle was removed in between: the caller starts again. */
  #attempt<T>(
    addresses: readonly BundleAddress[],
    create: boolean,
    work: (editors: readonly (BundleEditor | undefined)[]) => T,
  ): T | null {
    const editors = addresses
      .map((address) => this.#editor(address, create))
      .filter((editor) => editor !== null);
    if (!create && editors.length === 0) return work([]);
    if (editors.length < addresses.length) return null;
    try {
      for (const editor of editors) editor.begin();
      if (!editors.every((editor) => editor.isCurrent())) return null;
      const change = work(editors);
      for (const editor of editors) editor.commit();
      return change;
    } finally {
      for (const editor of editors) editor.rollBackUnlessCommitted();
      this.#makeRoom();
    }
  }

  #removingDamage<T>(work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof DamagedBundle)) throw error;
      if (this.discardBundle(error.path)) this.#onDamage(error.path, error.message);
      return null;
    }
  }

  #editor(address: BundleAddress, create: boolean): BundleEditor | null {
    const known = this.#editors.get(address.folder);
    if (known) return known;
    if (create && !findBundleFile(address.folder)) {
      this.#indexed().opened(address.folder);
      makeBundleFile(this.#layout, address);
    }
    const path = findBundleFile(address.folder);
    const editor = path ? BundleEditor.open(path, this.#indexed()) : null;
    if (editor) this.#editors.set(address.folder, editor);
    return editor;
  }

  #makeRoom(): void {
    const byUse = [...this.#editors].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [folder] of byUse.slice(0, Math.max(0, byUse.length - MAX_EDITORS))) this.#close(folder);
  }

  #close(folder: string): void {
    const editor = this.#editors.get(folder);
    this.#editors.delete(folder);
    editor?.close();
  }
}

function partsOf(rect: TileRect, { within }: TileLimits): readonly TileRect[] {
  if (!within) return [rect];
  return [...rectsIn(within)].flatMap((part) => intersectRects(part, rect) ?? []);
}

/** Whether a removal leaves nothing of a bundle, whatever it holds. */
function isWhole(
  { bundleX, bundleY, rect }: EditCommand,
  { createdBefore, before, within }: TileLimits,
): boolean {
  if (createdBefore !== undefined || before !== undefined || within) return false;
  const covered = intersectRects(blockAt(bundleX, bundleY, BUNDLE_SIZE), rect);
  return covered !== null && sizeOfRect(covered) === BUNDLE_SIZE ** 2;
}

/** Each once, in one order everywhere: several bundles are always locked in this order. */
function inOrder(addresses: readonly BundleAddress[]): readonly BundleAddress[] {
  const byFolder = new Map(addresses.map((address) => [address.folder, address]));
  return [...byFolder.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
}
