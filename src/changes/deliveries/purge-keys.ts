import type { Catalog } from '../../catalog/catalog.ts';
import { everySubset, type Layer } from '../../domain/layer.ts';
import { type ParameterFilter, selectParameters } from '../../domain/parameter-filter.ts';
import { cellKey, cellsIn, cellZoomsOf, layerKey, pageKey } from '../../domain/surrogate-keys.ts';
import type { TileEvent } from '../../domain/tile-events.ts';
import { pageOf, type TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import { remembered } from '../../lib/get-or-create.ts';

/** Keys of pages and cells of one layer; above it the whole layer is purged. */
export const MAX_PAGE_KEYS = 1000;
/** Keys of pages and cells of all layers; above it each layer is purged as a whole. */
const MAX_KEYS = 20_000;
/** Limit of keys of one zoom of a place; beyond it keys of larger cells. */
const FEW_KEYS = 64;

/** The stored form: keys of pages and cells by layer; null: the whole layer. */
export type PurgePayload = Readonly<Record<string, readonly string[] | null>>;

type NamedCatalog = Pick<Catalog, 'layer'>;
type TileSetNames = Omit<TileSetKey, 'incarnation'>;

/** The keys to purge, bounded in size for any number of changes. Cells are larger than pages: see surrogate-keys.ts. */
export class PurgeKeys {
  readonly #layers = new Map<string, Set<string> | null>();
  /** Keys of pages and cells, over all layers. */
  #count = 0;

  get isEmpty(): boolean {
    return this.#layers.size === 0;
  }

  /** Ignores events after which copies of tiles are still right. */
  addEvent(event: TileEvent, catalog: NamedCatalog): void {
    if (event.type === 'layer-dropped') this.add(event.layer, null);
    if (event.type !== 'outdated') return;
    if (!event.places) this.add(event.layer, null);
    const layer = catalog.layer(event.layer)?.layer ?? null;
    for (const { gridSet, z, rect } of event.places ?? []) {
      const names = { layer: event.layer, gridSet };
      this.add(event.layer, placeKeys(layer, names, layer && tileSetsAt(layer, gridSet), z, rect));
    }
  }

  merge(payload: PurgePayload): void {
    for (const [layer, keys] of Object.entries(payload)) this.add(layer, keys);
  }

  /** Null: the whole layer. */
  add(layer: string, keys: readonly string[] | null): void {
    const known = this.#layers.get(layer);
    if (known === null) return;
    const before = known?.size ?? 0;
    const all = keys && (known ?? new Set<string>());
    for (const key of keys ?? []) all?.add(key);
    const kept = all && all.size <= MAX_PAGE_KEYS ? all : null;
    this.#layers.set(layer, kept);
    this.#count += (kept?.size ?? 0) - before;
    if (this.#count > MAX_KEYS) this.#widen();
  }

  /** Everything so far; it is empty afterwards. */
  take(): PurgePayload {
    const payload = Object.fromEntries([...this.#layers].map(([layer, keys]) => [layer, keys && [...keys]]));
    this.#layers.clear();
    this.#count = 0;
    return payload;
  }

  #widen(): void {
    for (const layer of this.#layers.keys()) this.#layers.set(layer, null);
    this.#count = 0;
  }
}

/** In the form of a purge request. */
export function keysIn(payload: PurgePayload): readonly string[] {
  return Object.entries(payload).flatMap(([layer, keys]) => keys ?? [layerKey(layer)]);
}

/**
 * Keys of the pages of a place; where these are many, of the smallest cells that are few. Null: more than may be listed.
 * `sets`: every tile set that clients may have got there; null: they cannot be listed.
 */
function placeKeys(
  layer: Layer | null,
  names: Pick<TileSetKey, 'layer' | 'gridSet'>,
  sets: readonly TileSetNames[] | null,
  z: number,
  rect: TileRect,
): readonly string[] | null {
  const subset = layer && everySubset(layer).find(({ gridSet }) => gridSet.name === names.gridSet);
  if (subset && (z < subset.zoomStart || z > subset.zoomStop)) return [];
  const cellZooms = subset ? cellZoomsOf(subset.gridSet, z) : [];
  const most = cellZooms.length === 0 ? MAX_PAGE_KEYS : FEW_KEYS;
  const pages = sets && pageKeys(sets, z, rect, most);
  if (pages || !subset) return pages;
  for (const zoom of cellZooms) {
    const cells = cellsIn(subset.gridSet, zoom, z, rect);
    const keys = cells && keysWithin(cells, FEW_KEYS, (x, y) => [cellKey(names, zoom, x, y)]);
    if (keys) return keys;
  }
  return sets && pageKeys(sets, z, rect, MAX_PAGE_KEYS);
}

function pageKeys(sets: readonly TileSetNames[], z: number, rect: TileRect, most: number) {
  const { minX, minY, maxX, maxY } = rect;
  const pages = { minX: pageOf(minX), minY: pageOf(minY), maxX: pageOf(maxX), maxY: pageOf(maxY) };
  return keysWithin(pages, most / sets.length, (x, y) => sets.map((set) => pageKey(set, z, x, y)));
}

/** Null: it has more places than `most`. */
function keysWithin(
  { minX, minY, maxX, maxY }: TileRect,
  most: number,
  keysAt: (x: number, y: number) => readonly string[],
): readonly string[] | null {
  if ((maxX - minX + 1) * (maxY - minY + 1) > most) return null;
  const keys: string[] = [];
  for (let y = minY; y <= maxY; y++) for (let x = minX; x <= maxX; x++) keys.push(...keysAt(x, y));
  return keys;
}

/** All tile sets of a layer in a grid set, stored or not; null: any values of parameters, or too many. */
function tileSetsAt(layer: Layer, gridSet: string): readonly TileSetNames[] | null {
  const ids = parametersIds(layer);
  if (!ids) return null;
  return layer.formats.flatMap(({ mediaType: format }) =>
    ids.map((parametersId) => ({ layer: layer.name, gridSet, format, parametersId })),
  );
}

const parametersIds = remembered(({ parameters }: Layer): readonly (string | null)[] | null => {
  const combinations = combinationsOf(parameters);
  return combinations && [...new Set(combinations.map((values) => selectParameters(parameters, values).id))];
});

function combinationsOf(filters: readonly ParameterFilter[]): readonly ReadonlyMap<string, string>[] | null {
  let combinations: readonly (readonly [string, string])[][] = [[]];
  for (const { name, values, defaultValue } of filters) {
    if (!values || combinations.length * (values.length + 1) > MAX_PAGE_KEYS) return null;
    const all = [...new Set([defaultValue, ...values])];
    combinations = combinations.flatMap((some) =>
      all.map((value): (readonly [string, string])[] => [...some, [name, value]]),
    );
  }
  return combinations.map((some) => new Map(some));
}
