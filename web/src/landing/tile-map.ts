import Zoom from 'ol/control/Zoom.js';
import { defaults as defaultInteractions } from 'ol/interaction/defaults.js';
import TileLayer from 'ol/layer/Tile.js';
import OlMap from 'ol/Map.js';
import type Projection from 'ol/proj/Projection.js';
import { get as knownProjection, transform } from 'ol/proj.js';
import type TileImage from 'ol/source/TileImage.js';
import type TileGrid from 'ol/tilegrid/TileGrid.js';
import type View from 'ol/View.js';
import { gridOf, projectionOf, sourceOf, viewOf } from '../map/grid.ts';
import type { GridSetEntry } from './layer-list.ts';
import { type Selection, tileAddress } from './selection.ts';

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

/** A full map of one selection at a time. */
export class TileMap {
  readonly #map: OlMap;
  readonly #layer = new TileLayer<TileImage>();
  readonly #events: TileMapEvents;
  #selection: Selection | null = null;
  #grid: TileGrid | null = null;
  #pointer: number[] | null = null;

  constructor(target: HTMLElement, events: TileMapEvents) {
    this.#events = events;
    // Arrow keys, plus and minus reach the map only when it can have the focus.
    target.tabIndex = 0;
    this.#map = new OlMap({
      target,
      layers: [this.#layer],
      controls: [new Zoom()],
      // The wheel and the mouse work at once, also before the map has the focus.
      interactions: defaultInteractions({ onFocusOnly: false }),
    });
    this.#map.on('pointermove', (event) => {
      this.#pointer = event.coordinate;
      this.#report();
    });
    this.#map.on('moveend', () => this.#report());
    target.addEventListener('pointerleave', () => {
      this.#pointer = null;
      this.#report();
    });
  }

  show(selection: Selection): void {
    const { gridSet } = selection;
    const sameView =
      this.#selection?.gridSet.name === gridSet.name && this.#selection.layer === selection.layer;
    const projection = projectionOf(gridSet);
    const grid = gridOf(gridSet);
    this.#layer.setSource(
      sourceOf({
        projection,
        tileGrid: grid,
        wrapX: true,
        addressOf: (z, x, y) => tileAddress(selection, z, x, y),
        onTileFailed: (address) => this.#events.onTileFailed(address),
      }),
    );
    if (!sameView) this.#map.setView(this.#viewOf(gridSet, projection));
    this.#selection = selection;
    this.#grid = grid;
    this.#pointer = null;
    this.#report();
  }

  /** Another grid set shows the same place when both have a place on earth. */
  #viewOf(gridSet: GridSetEntry, projection: Projection): View {
    const view = viewOf(gridSet, projection);
    const before = this.#selection && this.#map.getView();
    const centre = before?.getCenter();
    const isOnEarth =
      before && knownProjection(before.getProjection().getCode()) && knownProjection(gridSet.srs);
    if (!before || !centre || !isOnEarth) {
      view.fit([...gridSet.extent], { size: this.#map.getSize() ?? [800, 600], nearest: true });
      return view;
    }
    view.setCenter(transform(centre, before.getProjection(), projection));
    const metres = (before.getResolution() ?? 1) * (before.getProjection().getMetersPerUnit() ?? 1);
    view.setResolution(metres / (projection.getMetersPerUnit() ?? 1));
    return view;
  }

  #report(): void {
    const view = this.#map.getView();
    const at = this.#pointer ?? view.getCenter();
    const resolution = view.getResolution();
    if (!this.#selection || !this.#grid || !at || !resolution) return;
    const zoom = this.#grid.getZForResolution(resolution);
    const [z = 0, x = 0, y = 0] = this.#grid.getTileCoordForCoordAndZ(at, zoom);
    const range = this.#grid.getFullTileRange(zoom);
    this.#events.onMove({
      zoom,
      position: positionOf(at, view.getProjection()),
      tile: range?.containsXY(x, y) ? tileAddress(this.#selection, z, x, y) : null,
    });
  }
}

/** In degrees where the projection is known, e.g. `59.91° N, 10.75° E`; in its own units otherwise. */
function positionOf(at: number[], projection: Projection): string {
  if (!knownProjection(projection.getCode())) return at.map((value) => value.toFixed(1)).join(', ');
  const [longitude = 0, latitude = 0] = transform(at, projection, 'EPSG:4326');
  const turned = longitude - Math.floor((longitude + 180) / 360) * 360;
  const northing = `${Math.abs(latitude).toFixed(3)}° ${latitude < 0 ? 'S' : 'N'}`;
  return `${northing}, ${Math.abs(turned).toFixed(3)}° ${turned < 0 ? 'W' : 'E'}`;
}
