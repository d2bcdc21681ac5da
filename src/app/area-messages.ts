/** Messages between a process and its thread for areas and the configuration file. `bytes`: a shape, see `bytesOf`. */
import type { SettingsInput } from '../config/environment.ts';
import type { ReadSettings } from '../config/load-settings.ts';
import type { Bounds, Polygon } from '../domain/bounds.ts';
import type { GridSet } from '../domain/grid-set.ts';
import type { AreaSource, MeasuredShape } from '../domain/named-area.ts';
import { messageKind } from '../lib/channel.ts';

interface PlacedBytes {
  readonly gridSet: GridSet;
  readonly srs: number;
  readonly bytes: Uint8Array;
}

type MeasuredBytes = Omit<MeasuredShape, 'shape'> & { readonly bytes: Uint8Array };

/** `bytes` and `was`: the former shape and its SRS. `boxes` surround the differences; null: everything may differ. */
export const READ_AREA = messageKind<
  { readonly source: AreaSource; readonly srs: number; readonly was: number; readonly bytes: Uint8Array },
  MeasuredBytes & { readonly boxes: readonly Bounds[] | null }
>('read-area');

/** The configuration file, which may have the shapes of areas in it; or its problems. */
export const READ_SETTINGS = messageKind<
  SettingsInput,
  ReadSettings | { readonly problems: readonly string[] }
>('read-settings');

export const PLACE_AREA = messageKind<PlacedBytes, { readonly bytes: Uint8Array }>('place-area');

export const OUTLINE_AREA = messageKind<PlacedBytes, readonly Polygon[]>('outline-area');
