import { invalid } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { everySubset, type Layer } from '../domain/layer.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { TileStore } from '../storage/tile-store.ts';
import type { Drop } from './catalog-entries.ts';
import type { ParameterValues } from './parameter-book.ts';

/** What a caller wants to become of tiles that a change makes doubtful. */
export const TILE_CHOICES = ['keep', 'stale', 'drop'] as const;
export type TileChoice = (typeof TILE_CHOICES)[number];

/**
 * What becomes of cached tiles. `stale`: each is renewed before it is shown. `truncated`: they would be wrong, and are
 * removed. `orphaned`: they cannot be requested any longer.
 */
export type Fate = 'kept' | 'stale' | 'truncated' | 'orphaned';

export interface Affected {
  readonly set: TileSetKey;
  readonly fate: Fate;
  /** Of tiles that are kept nothing is counted. */
  readonly tiles: number;
  readonly bytes: number;
}

interface LayerChange {
  readonly before: Layer;
  readonly after: Layer;
  /** Whether the pictures come from the same place. */
  readonly sameSource: boolean;
  /** Whether both keep their tiles in the same store. */
  readonly sameStore: boolean;
  /** By parameters id. */
  readonly values: ReadonlyMap<string, ParameterValues>;
}

/** Without a choice of the caller. */
export function fateOf(set: TileSetKey, change: LayerChange): Fate {
  const { before, after, sameSource, sameStore, values } = change;
  const subset = everySubset(after).find(({ gridSet }) => gridSet.name === set.gridSet);
  const offered = after.formats.some(({ mediaType }) => mediaType === set.format);
  if (!sameStore || !subset || !offered) return 'orphaned';
  const valid = sameSource ? 'kept' : 'stale';
  if (set.parametersId === null) {
    // Such tiles show what all defaults stand for.
    return defaultsOf(before) === defaultsOf(after) ? valid : 'truncated';
  }
  const noted = values.get(set.parametersId);
  return noted && idOf(after, noted) !== set.parametersId ? 'orphaned' : valid;
}

/** What happens when the caller says nothing. */
export function usualChoice(tileSets: readonly Affected[]): TileChoice {
  if (tileSets.some(({ fate }) => fate === 'truncated')) return 'drop';
  return tileSets.some(({ fate }) => fate === 'stale') ? 'stale' : 'keep';
}

/** Throws `request-invalid` where the choice would show wrong tiles. */
export function withChoice(tileSets: readonly Affected[], choice: TileChoice | null): readonly Affected[] {
  if (choice === null) return tileSets;
  const wrong = tileSets.find(({ fate }) => fate === 'truncated');
  if (choice !== 'drop' && wrong) {
    throw invalid(
      `tiles must be drop or be left out: the change gives cached tiles of ${wrong.set.layer} in ${wrong.set.gridSet} another meaning, so they cannot be kept or renewed.`,
    );
  }
  const fate: Fate = choice === 'keep' ? 'kept' : choice === 'stale' ? 'stale' : 'truncated';
  return tileSets.map((one) => (one.fate === 'stale' ? { ...one, fate } : one));
}

export function dropsOf(tileSets: readonly Affected[]): readonly Drop[] {
  return tileSets.flatMap(({ set, fate }) =>
    fate === 'truncated' || fate === 'stale' ? [{ layer: set.layer, set, stale: fate === 'stale' }] : [],
  );
}

/** The generation rises first, so that nothing fetched earlier follows into the store. */
export async function carryOutDrop(store: TileStore, { layer, set, stale = false }: Drop): Promise<void> {
  await store.raiseGeneration(layer);
  if (set && stale) return markAllStale(store, set);
  await (set ? store.dropTileSet(set) : store.dropLayer(layer));
}

/** Beyond any tile index. */
const WHOLE_LEVEL = { minX: 0, minY: 0, maxX: 2 ** 31, maxY: 2 ** 31 };
/** So long ago that neither staleWhileRevalidate nor staleIfError applies. Milliseconds since 1970. */
const LONG_STALE = 0;

async function markAllStale(store: TileStore, set: TileSetKey): Promise<void> {
  const zooms = new Set<number>();
  for await (const { z } of store.pages(set)) zooms.add(z);
  for (const z of zooms) await store.markStale(set, z, WHOLE_LEVEL, LONG_STALE);
}

/** The same for grid sets whose tiles are the same. */
export function gridOf({ srs, extent, tileWidth, tileHeight, levels }: GridSet): string {
  const ladder = levels.map(({ resolution, columns, rows, top }) => [resolution, columns, rows, top]);
  return JSON.stringify([srs, extent, tileWidth, tileHeight, ladder]);
}

function defaultsOf({ parameters }: Layer): string {
  const given = parameters.filter(({ defaultValue }) => defaultValue !== '');
  return JSON.stringify(given.map(({ name, defaultValue }) => [name.toUpperCase(), defaultValue]).sort());
}

function idOf(layer: Layer, values: ParameterValues): string | null {
  try {
    return selectParameters(layer.parameters, values).id;
  } catch {
    return null;
  }
}
