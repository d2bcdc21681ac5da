import type { MapPicture } from '../domain/bounds.ts';
import type { Format } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { OldCache } from './old-cache.ts';

/** Its bounds are those of the metatile with its gutter. */
export interface SourceRequest extends MapPicture {
  readonly gridSet: GridSet;
  readonly metatile: Metatile;
  /** The format of the stored tiles; a source may return another lossless one. */
  readonly format: Format;
  /** Complete parameter values, names in upper case. */
  readonly parameters: ReadonlyMap<string, string>;
  /** `interactive`: a person waits for it. */
  readonly priority: 'interactive' | 'task';
  /** The server's validator of the existing tiles; null or absent: none. */
  readonly validator?: string | null;
  /** The caller's `Authorization`, for the declared server; null or absent: none. */
  readonly authorization?: string | null;
  readonly signal: AbortSignal;
  /** Called for each request that is sent to a server. */
  readonly sent?: (() => void) | undefined;
}

/** A server's response, not yet validated; our own pixels; an empty tile; or no change. */
export type SourceResult =
  | {
      readonly kind: 'encoded';
      readonly bytes: Buffer;
      /** The server's media type without parameters, lower case; null: none. */
      readonly mediaType: string | null;
      /** The freshness that the server promises; null or absent: none. */
      readonly freshSeconds?: number | null;
      readonly validator?: string | null;
      /** The server drew another value of a dimension than requested: shown with this header, and not stored. */
      readonly warning?: string | null;
    }
  | {
      /** Only for a request with a validator: the existing tiles are current. */
      readonly kind: 'unchanged';
      readonly freshSeconds: number | null;
    }
  | {
      readonly kind: 'pixels';
      /** RGBA, row by row, not premultiplied. */
      readonly pixels: Buffer;
      readonly width: number;
      readonly height: number;
      /** Drawn from tiles that are no longer fresh: shown as stale, and not stored. */
      readonly stale?: boolean;
      /** Why a part is missing in it; it is stale, and shown only if there is no older picture. */
      readonly failure?: unknown;
      readonly freshSeconds?: number | null;
      readonly warning?: string | null;
    }
  | {
      /** The tile is empty: transparent, or without features. */
      readonly kind: 'nothing';
    };

export interface InfoRequest
  extends MapPicture,
    Pick<SourceRequest, 'gridSet' | 'format' | 'parameters' | 'signal'> {
  /** Column and row of the pixel, from the top left. */
  readonly i: number;
  readonly j: number;
  /** The media type of the response. */
  readonly infoFormat: string;
  readonly featureCount: number;
}

export interface InfoResponse {
  readonly bytes: Buffer;
  /** The server's media type without parameters, lower case; null: none. */
  readonly mediaType: string | null;
}

export interface LegendRequest {
  /** Empty: the default one. */
  readonly style: string;
  readonly format: string;
  /** Null: chosen by the server. */
  readonly width: number | null;
  readonly height: number | null;
  /** A scale denominator, unchanged. */
  readonly scale: string | null;
  readonly signal: AbortSignal;
}

/**
 * Where a layer's pictures come from. Opening a source uses no network: a dead upstream never stops a start. Failures
 * are `source-unavailable`, `source-timeout`, `source-busy` or `source-bad-answer`; an aborted signal rejects with its
 * reason. A source does not retry; tasks do.
 */
export interface TileSource {
  /** The largest metatile the source can answer in one request; null when it can draw any block. */
  readonly maxMetatile: { readonly columns: number; readonly rows: number } | null;
  /** Whether `fetch` makes use of a validator. */
  readonly confirms?: boolean;
  fetch(request: SourceRequest): Promise<SourceResult>;
  /** Read before the source, for single tiles that the store does not have. Absent: the layer adopts nothing. */
  readonly oldCache?: Pick<OldCache, 'read'>;
  /** Absent if the source has no feature information. Fails as `fetch` does. */
  featureInfo?(request: InfoRequest): Promise<InfoResponse>;
  /** Absent for a source without legends. Fails as `fetch` does. */
  legend?(request: LegendRequest): Promise<InfoResponse>;
  /** The first address that `fetch` would request, without secrets. Absent if the source has no address. */
  addressOf?(request: SourceRequest): string;
  /** The values of a dimension in the server's capabilities. Absent if the source has none. */
  dimensionValues?(dimension: string, signal: AbortSignal): Promise<readonly string[]>;
  /** `vector_layers` of TileJSON, if the source has them. */
  vectorLayers?(signal: AbortSignal): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

export interface LayerTile {
  /** Encoded. */
  readonly bytes: Buffer;
  /** No longer fresh. */
  readonly stale: boolean;
}

/** Another layer of this server, for a source. */
export interface ReadableLayer {
  readonly subsets: readonly GridSubset[];
  /** Makes the missing tiles of a block at the priority of tasks. Fails as a source does. */
  fill?(
    subset: GridSubset,
    z: number,
    rect: TileRect,
    request: Pick<SourceRequest, 'parameters' | 'signal'>,
  ): Promise<void>;
  /** A tile inside the subset, from the cache or made now. Fails as a source does. */
  tile(
    subset: GridSubset,
    tile: TileIndex,
    request: Pick<SourceRequest, 'parameters' | 'signal'>,
  ): Promise<LayerTile>;
  /** Null: no feature information in this format, or the place is outside. Fails as a source does. */
  info?(request: InfoRequest): Promise<InfoResponse | null>;
}

/** Null: there is no such layer, or it has no pictures. */
export type LayerReader = (name: string) => ReadableLayer | null;
