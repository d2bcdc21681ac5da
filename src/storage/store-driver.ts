import type { z as Zod } from 'zod';
import type { Database } from '../db/database.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';
import type { Outage, Store } from './store.ts';

/**
 * Describes a kind of store to other rooms; `drivers.ts` lists all. A driver imports the code of its store only in `open`,
 * because processes with another store do not need it.
 */
export interface StoreDriver<Options = unknown> {
  readonly type: string;
  readonly options: Zod.ZodType<Options>;
  /**
   * Where tiles are stored. `disk`: in a folder of this machine. `memory`: in a process, until it ends. `shared`: in an
   * object store for all nodes, listed in the database.
   */
  readonly place: 'disk' | 'memory' | 'shared';
  /** Options that may be shown over HTTP: no secret. */
  readonly shown: readonly string[];
  /** GeoWebCache's name for this kind of store. */
  readonly geowebcacheName: string;
  open(options: Options, tools: StoreTools): Promise<Store>;
  /** Absent if the driver has no index that can be lost. */
  rebuildIndex?(options: Options, tools: RebuildTools): Promise<RebuildResult>;
  /** Absent unless all of the store's data is in a folder of this machine. */
  backUp?(tools: BackupTools): Promise<BackupResult>;
}

export interface BackupTools extends Pick<StoreTools, 'root'> {
  /** The folder of the copy, which does not exist yet. */
  readonly target: string;
  readonly signal: AbortSignal;
}

/** Files and bytes of tiles. */
export interface BackupResult {
  readonly files: number;
  readonly bytes: number;
}

export interface StoreTools extends Env {
  readonly name: string;
  /** A folder of this machine for this store only. */
  readonly root: string;
  readonly random: Random;
  readonly database: Database;
  readonly readOnly: boolean;
  /** Whether this process removes unused objects from shared stores, which one process of all nodes does. */
  readonly sweeps: () => boolean;
  /** The state of the database while it is unreachable. */
  readonly outage?: Outage;
  /** Opens a store in `root`, for copies of tiles of a shared store. */
  readonly openCopies: () => Promise<Store>;
}

/** Tickets that a rebuilt index skips after the greatest one of a tile, because lost marks may have had later ones. */
export const TICKETS_ASIDE = 65_536;

export interface RebuildTools extends Env, Pick<StoreTools, 'name' | 'root' | 'random' | 'database'> {
  /** Whether an index that is not empty is extended, after an interrupted attempt. */
  readonly resume: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly files: number; readonly expected: number }) => void;
}

export interface RebuildResult {
  readonly packs: number;
  readonly tiles: number;
  /** Files or objects without packs, or of tile sets that were dropped and filled again. */
  readonly leftOut: number;
  /** Tile sets in the rebuilt index. */
  readonly sets: readonly TileSetKey[];
}
