import type { z as Zod } from 'zod';
import type { Database } from '../db/database.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';
import type { Outage, Store } from './store.ts';

/**
 * The description of a kind of store for other rooms. `drivers.ts` lists them. A driver's value does not load the code
 * that opens the store: processes with another store do not need it.
 */
export interface StoreDriver<Options = unknown> {
  readonly type: string;
  readonly options: Zod.ZodType<Options>;
  /**
   * `disk`: in a folder of this machine. `memory`: of one process, until it ends. `shared`: every node sees the same
   * tiles, and the database lists them.
   */
  readonly place: 'disk' | 'memory' | 'shared';
  /** Options that may be shown over HTTP: no secret. */
  readonly shown: readonly string[];
  /** GeoWebCache's name of such a store. */
  readonly geowebcacheName: string;
  open(options: Options, tools: StoreTools): Promise<Store>;
  /** Only drivers whose index can be lost have it. */
  rebuildIndex?(options: Options, tools: RebuildTools): Promise<RebuildResult>;
  /** Only drivers with all of their data in a folder of this machine have it. */
  backUp?(tools: BackupTools): Promise<BackupResult>;
}

export interface BackupTools extends Pick<StoreTools, 'root'> {
  /** A new folder. */
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
  /** A folder of this machine that is the store's own. */
  readonly root: string;
  readonly random: Random;
  readonly database: Database;
  readonly readOnly: boolean;
  /** Whether this process removes unused objects from shared stores; one of all nodes is enough. */
  readonly sweeps: () => boolean;
  /** The state of the database while it is unreachable. */
  readonly outage?: Outage;
  /** Opens a store in `root`, for copies of tiles that are kept elsewhere. */
  readonly openCopies: () => Promise<Store>;
}

/** Tickets that a rebuilt index skips after the last ticket of a tile: lost marks may have had later ones. */
export const TICKETS_ASIDE = 65_536;

export interface RebuildTools extends Env, Pick<StoreTools, 'name' | 'root' | 'random' | 'database'> {
  /** Whether an index that is not empty is extended: an earlier attempt was interrupted. */
  readonly resume: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly files: number; readonly expected: number }) => void;
}

export interface RebuildResult {
  readonly packs: number;
  readonly tiles: number;
  /** Files or objects without packs, or of tile sets that were dropped and filled again. */
  readonly leftOut: number;
  /** Tile sets that are listed again. */
  readonly sets: readonly TileSetKey[];
}
