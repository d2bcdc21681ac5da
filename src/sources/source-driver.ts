import type { z as Zod } from 'zod';
import type { GridSet } from '../domain/grid-set.ts';
import type { PlaceableArea } from '../domain/placed-area.ts';
import type { ClearColour, Composer } from '../domain/placed-picture.ts';
import type { Env } from '../lib/env.ts';
import type { ValuePath } from '../lib/value-path.ts';
import type { LayerReader, TileSource } from './tile-source.ts';
import type { SourceUpstream } from './upstream/upstream-client.ts';

/** A kind of source as other rooms see it. `drivers.ts` lists them. */
export interface SourceDriver<Options = unknown> {
  readonly type: string;
  readonly options: Zod.ZodType<Options>;
  /** Options that every account may see, so none with a secret. `url` is shown without query and user. */
  readonly shown: readonly OptionName<Options>[];
  /** Options that change no picture: secrets, and limits of a connection. Tiles depend on all others. */
  readonly connection: readonly OptionName<Options>[];
  /** `ready-made`: single tiles, in their own size. `resampled`: drawn from tiles of other layers. */
  readonly pictures: 'drawn' | 'resampled' | 'ready-made';
  /** Whether it can send the caller's `Authorization` to its server. */
  readonly passesCredentials: boolean;
  readonly queryable: boolean;
  /** Whether its server lists values of dimensions. */
  readonly listsDimensions?: true;
  /** Absent: it has tiles in every grid set. */
  offers?(options: Options, gridSet: GridSet): boolean;
  /** The path of the option that names a file of this machine; null: none does. Absent: there is no such option. */
  fileOption?(options: Options): ValuePath | null;
  /** Its parts, the first at the bottom. Absent: it has none. */
  parts?(options: Options): readonly SourcePart[];
  open(options: Options, tools: SourceTools): TileSource;
}

/** A part is either a layer of this server or another source. */
export interface SourcePart {
  readonly layer?: string | undefined;
  readonly gridSet?: string | undefined;
  readonly source?: unknown;
  /** The name of an area. */
  readonly within?: string | undefined;
}

/** Option names of each driver, if `Options` belong to several. */
type OptionName<Options> = Options extends unknown ? keyof Options & string : never;

/** The current shape of an area. Throws `source-unavailable` if it was never read. */
export type CurrentArea = () => PlaceableArea;

export interface SourceTools extends Env {
  /** Bound to the hosts that the options name. */
  readonly upstream: SourceUpstream;
  readonly readLayer: LayerReader;
  /** Areas that the declaration refers to. */
  readonly areas: { get(name: string): CurrentArea | undefined };
  /** To RGBA, with the colour `clear` as transparent. Anything but a complete picture of this size is `source-bad-answer`. */
  readonly decode: (
    bytes: Buffer,
    size: { readonly width: number; readonly height: number },
    clear?: ClearColour | null,
  ) => Promise<Buffer>;
  readonly composer: Composer;
}
