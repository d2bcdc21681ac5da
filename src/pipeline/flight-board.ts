import type { Metatile } from '../domain/metatile.ts';
import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { intersectRects, type TileRect } from '../domain/tile-rect.ts';
import type { Flight } from './flight.ts';

/** The flights that may be joined: at most one for each metatile. */
export class FlightBoard {
  readonly #layers = new Map<string, Map<string, Flight>>();

  /** A flight that began under `generation` or a later one. */
  find(set: TileSetKey, metatile: Metatile, generation: number | null): Flight | null {
    const flight = this.#layers.get(set.layer)?.get(flightKey(set, metatile));
    if (!flight) return null;
    if (generation === null) return flight;
    const began = flight.plan.generation;
    return began !== null && began >= generation ? flight : null;
  }

  /** A flight of the same metatile that stood here is outdated by this one. */
  add(flight: Flight): void {
    const { tiles, metatile } = flight.plan;
    const ofLayer = this.#layers.get(tiles.set.layer) ?? new Map<string, Flight>();
    const key = flightKey(tiles.set, metatile);
    const former = ofLayer.get(key);
    if (former) this.#outdate(former);
    // Outdating the last flight of a layer takes the layer's map away.
    this.#layers.set(tiles.set.layer, ofLayer.set(key, flight));
  }

  remove(flight: Flight): void {
    const { tiles, metatile } = flight.plan;
    const ofLayer = this.#layers.get(tiles.set.layer);
    const key = flightKey(tiles.set, metatile);
    if (ofLayer?.get(key) !== flight) return;
    ofLayer.delete(key);
    if (ofLayer.size === 0) this.#layers.delete(tiles.set.layer);
  }

  outdate(set: TileSetKey, z: number, rect: TileRect): void {
    const id = tileSetId(set);
    for (const flight of this.#layers.get(set.layer)?.values() ?? []) {
      const { tiles, metatile } = flight.plan;
      if (metatile.z !== z || !intersectRects(metatile.rect, rect)) continue;
      if (tileSetId(tiles.set) === id) this.#outdate(flight);
    }
  }

  outdateLayer(layer: string): void {
    for (const flight of this.#layers.get(layer)?.values() ?? []) this.#outdate(flight);
  }

  #outdate(flight: Flight): void {
    flight.outdated = true;
    this.remove(flight);
  }
}

/** By the tiles themselves: a task may still carry metatiles of a size that the layer no longer has. */
export function flightKey(set: TileSetKey, { z, rect }: Metatile): string {
  return `${tileSetId(set)}${z}/${rect.minX}-${rect.maxX}/${rect.minY}-${rect.maxY}`;
}
