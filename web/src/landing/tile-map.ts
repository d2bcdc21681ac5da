import type Projection from 'ol/proj/Projection.js';
import { get as knownProjection, transform } from 'ol/proj.js';
import type View from 'ol/View.js';
import { ConsoleMap } from '../map/console-map.ts';
import { type OfferedLayer, type TileSet, tileAddress } from '../map/tile-set.ts';

/** What the map tells of itself: where the pointer is, or the middle of the map when there is none. */
export interface MapReport {
  readonly zoom: number;
  readonly position: string;
  readonly tile: string | null;
}

export interface TileMapEvents {
  onMove(report: MapReport): void;
  onTileFailed(address: string): void;
}

export class TileMap {
  readonly #map: ConsoleMap;
  readonly #events: TileMapEvents;
  #set: TileSet<OfferedLayer> | null = null;
  #pointer: number[] | null = null;

  constructor(target: HTMLElement, events: TileMapEvents) {
    this.#events = events;
    // Arrow keys, plus and minus reach the map only when it can have the focus.
    target.tabIndex = 0;
    this.#map = new ConsoleMap(target, events, { wrapX: true, maxTilesLoading: 16 });
    this.#map.map.on('pointermove', ({ coordinate }) => this.#point(coordinate));
    this.#map.map.on('moveend', () => this.#report());
    target.addEventListener('pointerleave', () => this.#point(null));
  }

  show(set: TileSet<OfferedLayer>): void {
    const before = this.#set && this.#map.map.getView();
    this.#map.show(set);
    const view = this.#map.map.getView();
    if (before && before !== view) keepPlace(before, view);
    this.#set = set;
    this.#point(null);
  }

  #point(at: number[] | null): void {
    this.#pointer = at;
    this.#report();
  }

  #report(): void {
    const view = this.#map.map.getView();
    const at = this.#pointer ?? view.getCenter();
    const found = at && this.#map.tileAt(at);
    if (!this.#set || !found) return;
    const { z, x, y } = found;
    const tile = found.offered ? tileAddress(this.#set, z, x, y) : null;
    this.#events.onMove({ zoom: z, position: positionOf(at, view.getProjection()), tile });
  }
}

/** Another grid set shows the same place when both have a place on earth. */
function keepPlace(before: View, view: View): void {
  const [from, to] = [before.getProjection(), view.getProjection()];
  const centre = before.getCenter();
  if (!centre || !knownProjection(from.getCode()) || !knownProjection(to.getCode())) return;
  view.setCenter(transform(centre, from, to));
  const metres = (before.getResolution() ?? 1) * (from.getMetersPerUnit() ?? 1);
  view.setResolution(metres / (to.getMetersPerUnit() ?? 1));
}

/** In degrees where the projection is known, e.g. `59.91° N, 10.75° E`; in its own units otherwise. */
function positionOf(at: number[], projection: Projection): string {
  if (!knownProjection(projection.getCode())) return at.map((value) => value.toFixed(1)).join(', ');
  const [longitude = 0, latitude = 0] = transform(at, projection, 'EPSG:4326');
  const turned = longitude - Math.floor((longitude + 180) / 360) * 360;
  const northing = `${Math.abs(latitude).toFixed(3)}° ${latitude < 0 ? 'S' : 'N'}`;
  return `${northing}, ${Math.abs(turned).toFixed(3)}° ${turned < 0 ? 'W' : 'E'}`;
}
