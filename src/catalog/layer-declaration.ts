import type { Bounds } from '../domain/bounds.ts';
import type { LayerAccess, OutsideAnswer, ZoomExpiry } from '../domain/layer.ts';
import type { LetterCase } from '../domain/parameter-filter.ts';
import type { Adoption } from '../storage/adopted/adopt-options.ts';

/** A layer as an administrator writes it down, defaults filled in. Plain data: it can be kept and compared. */
export interface LayerDeclaration<Source = unknown> {
  readonly name: string;
  /** As it was written down, with every default filled in and secrets in the clear. */
  readonly document: unknown;
  readonly enabled: boolean;
  readonly advertised: boolean;
  /** Forgotten when the server stops; of those declared at run time. */
  readonly transient: boolean;
  readonly title: string;
  readonly description: string;
  readonly attribution: string;
  /** What the layer's driver understands; opaque to the catalog. */
  readonly source: Source;
  /** The name of a declared store. */
  readonly store: string;
  /** Looked through in this order. */
  readonly adopt: readonly Adoption[];
  readonly formats: readonly string[];
  readonly gridSets: readonly GridSubsetDeclaration[];
  readonly metatile: readonly [columns: number, rows: number];
  readonly gutter: number;
  readonly parameters: readonly ParameterDeclaration[];
  /** Seconds, or seconds by zoom; 0: tiles stay fresh for ever; -1: they are not kept. */
  readonly expireCache: number | readonly ZoomExpiry[];
  readonly followSource: boolean;
  /** Seconds. */
  readonly staleWhileRevalidate: number;
  /** Seconds. */
  readonly staleIfError: number;
  /** Seconds; 0: say nothing to clients; -1: they ask again each time. */
  readonly expireClients: number | readonly ZoomExpiry[];
  readonly access: LayerAccess;
  /** Null: as each service's standard wants it. */
  readonly outside: OutsideAnswer | null;
  readonly retina: boolean;
  readonly blankIsRight: boolean | readonly BlankAreaDeclaration[];
  readonly fullWMS: boolean;
  readonly queryable: boolean;
  readonly infoFormats: readonly string[];
  readonly cacheBypass: boolean;
  readonly legends: readonly LegendDeclaration[];
  readonly requestFilters: readonly RequestFilterDeclaration[];
}

/** What is left out the source decides. */
export interface LegendDeclaration {
  readonly style: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly format: string;
  readonly url?: string | undefined;
  readonly minScale?: number | undefined;
  readonly maxScale?: number | undefined;
}

export interface RequestFilterDeclaration {
  readonly type: 'circular';
  readonly name: string;
}

export interface BlankAreaDeclaration {
  /** Needed with bounds. */
  readonly gridSet?: string | undefined;
  readonly zoomStart?: number | undefined;
  readonly zoomStop?: number | undefined;
  /** In the grid set's CRS. */
  readonly bounds?: Bounds | undefined;
}

export interface GridSubsetDeclaration {
  readonly name: string;
  readonly extent?: Bounds | undefined;
  readonly zoomStart?: number | undefined;
  readonly zoomStop?: number | undefined;
  readonly minCachedLevel?: number | undefined;
  readonly maxCachedLevel?: number | undefined;
}

interface ParameterBase {
  readonly name: string;
  readonly default: string;
}

export type ParameterDeclaration = ParameterBase &
  (
    | { readonly kind: 'values'; readonly values: readonly string[]; readonly normalize: LetterCase }
    | { readonly kind: 'regex'; readonly regex: string; readonly normalize: LetterCase }
    | {
        readonly kind: 'integers' | 'floats';
        readonly values: readonly number[];
        readonly threshold?: number | undefined;
      }
  );
