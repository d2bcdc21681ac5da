import type { Caller } from '../../access/caller.ts';
import type { Draw, Grant, KeyUse, Unused } from '../../access/key-meter.ts';
import type { KeyChange } from '../../access/key-ring.ts';
import type { HeldKey } from '../../access/reader-key.ts';
import type { TileIndex, TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import { messageKind } from '../../lib/channel.ts';
import type { CachedTile, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Credentials } from '../auth/access.ts';
import type { TileBatch } from '../metrics/tile-counts.ts';

export interface TileAsked {
  readonly set: TileSetKey;
  /** The values behind `set.parametersId`. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly tile: TileIndex;
  /** As in `ResolvedTileSet`. */
  readonly bypass: boolean;
  readonly authorization: string | null;
}

export interface PageServed {
  readonly set: TileSetKey;
  /** One of its tiles. */
  readonly tile: TileIndex;
  readonly times: number;
  readonly at: number;
}

export interface Counted {
  readonly tiles: readonly TileBatch[];
  readonly pages: readonly PageServed[];
  readonly keys: readonly KeyUse[];
}

type Places = NonNullable<Parameters<TilePipeline['forgetPlaces']>[1]>;

/** Tiles that have been replaced or removed. */
export type Forgotten =
  | { readonly layer: string; readonly places?: Places }
  | { readonly set: TileSetKey; readonly z: number; readonly rect: TileRect };

/** Why it does not listen; null: it does. */
export interface StartReport {
  readonly problem: string | null;
}

/** From a process that answers HTTP to the primary. The first one: it listens, or it says why not. */
export const STARTED = messageKind<StartReport>('started');
/** A tile that the process does not have. */
export const READ_TILE = messageKind<TileAsked, CachedTile>('read-tile');
export const AUTHENTICATE = messageKind<Credentials, Caller | null>('authenticate');
/** All keys for readers, at the start of a process. */
export const READER_KEYS = messageKind<null, readonly HeldKey[]>('reader-keys');
export const DRAW_REQUESTS = messageKind<Draw, Grant>('draw-requests');
export const PUT_BACK_REQUESTS = messageKind<readonly Unused[]>('put-back-requests');
/** A wrong key came from this address. Fails with `attempts-throttled`. */
export const WRONG_KEY = messageKind<string, null>('wrong-key');
export const COUNTED = messageKind<Counted>('counted');

/** From the primary. */
export const READER_KEYS_CHANGED = messageKind<KeyChange>('reader-keys-changed');
export const FORGET = messageKind<Forgotten>('forget');
/** Answered when all earlier messages are handled and all earlier counts are reported. */
export const FLUSH = messageKind('settle');
/** Until `GO_ON`, requests to the primary wait. */
export const HOLD = messageKind('hold');
export const GO_ON = messageKind('go-on');
/** Answers requests in flight, then ends. */
export const STOP_SERVING = messageKind('stop-serving');
