import { statfs } from 'node:fs/promises';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import type { Store, StoreRoom } from './store.ts';

/** Statistics of a file system. */
interface DiskRoom {
  /** Bytes of a block. */
  readonly bsize: number;
  readonly blocks: number;
  readonly bavail: number;
  /** Inodes; 0 where the file system has no fixed number of them. */
  readonly files: number;
  readonly ffree: number;
}

interface FreeSpaceOptions extends Env {
  /** A folder on the disk in question. */
  readonly root: string;
  /** Storing stops when less than this share of the disk's room, or of its inodes, is free. */
  readonly minFreePercent: number;
  readonly measure?: (root: string) => Promise<DiskRoom>;
}

/** Milliseconds between checks of the disk, and without writes after the disk has refused one. */
const CHECK_INTERVAL_MS = 1000;
const REFUSED_PAUSE_MS = 2000;

/** Makes `put` throw `store-full` while the store's disk is nearly full. Reads and removals are not affected. */
export function guardFreeSpace(store: Store, options: FreeSpaceOptions): Store {
  const { root, minFreePercent, clock, log, measure = statfs } = options;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let refusedAt = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | null = null;
  let disk: DiskRoom | null = null;
  let warned = false;

  async function checkSpace(): Promise<void> {
    try {
      disk = await measure(root);
    } catch (error) {
      log.warn({ err: error }, 'the free space of a store could not be read');
    }
    checkedAt = clock.monotonic();
    checking = null;
  }

  async function isShort(): Promise<boolean> {
    const now = clock.monotonic();
    if (now - checkedAt > CHECK_INTERVAL_MS) checking ??= checkSpace();
    await checking;
    return isLow() || now - refusedAt < REFUSED_PAUSE_MS;
  }

  function isLow(): boolean {
    return disk !== null && freePercent(disk) < minFreePercent;
  }

  async function room(): Promise<StoreRoom | null> {
    const short = await isShort();
    if (!disk) return null;
    const { bavail, bsize } = disk;
    return {
      folder: root,
      freeBytes: bavail * bsize,
      freePercent: freePercent(disk),
      minFreePercent,
      storing: !short,
    };
  }

  function shortage(): string {
    const free = disk === null ? 'no room' : `${Math.round(freePercent(disk) * 100) / 100} %`;
    return `The disk of ${root} is full: ${free} free, and minFreePercent keeps ${minFreePercent} % free.`;
  }

  function report(short: boolean): void {
    if (short === warned) return;
    warned = short;
    const details = { folder: root, freePercent: disk && freePercent(disk), minFreePercent };
    if (short) log.warn(details, `${shortage()} Tiles are served but not stored; tasks wait.`);
    if (!short) log.info(details, `The disk of ${root} has space again; tiles are stored.`);
  }

  const put: Store['put'] = async (set, z, tiles, ticket, lease) => {
    if (await isShort()) {
      report(true);
      throw new TilewardenError('store-full', shortage());
    }
    try {
      const change = await store.put(set, z, tiles, ticket, lease);
      report(false);
      return change;
    } catch (error) {
      if (!isTilewardenError(error, 'store-full')) throw error;
      refusedAt = clock.monotonic();
      report(true);
      throw new TilewardenError('store-full', shortage(), { cause: error });
    }
  };
  return { ...store, room, put };
}

function freePercent({ blocks, bavail, files, ffree }: DiskRoom): number {
  const room = blocks === 0 ? 100 : (bavail / blocks) * 100;
  const inodes = files === 0 ? 100 : (ffree / files) * 100;
  return Math.min(room, inodes);
}
