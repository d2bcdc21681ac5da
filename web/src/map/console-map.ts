import Zoom from 'ol/control/Zoom.js';
import { defaults as defaultInteractions } from 'ol/interaction/defaults.js';
import type BaseLayer from 'ol/layer/Base.js';
import ImageLayer from 'ol/layer/Image.js';
import TileLayer from 'ol/layer/Tile.js';
import OlMap from 'ol/Map.js';
import type Projection from 'ol/proj/Projection.js';
import ImageStatic from 'ol/source/ImageStatic.js';
import type TileImage from 'ol/source/TileImage.js';
import type TileGrid from 'ol/tilegrid/TileGrid.js';
import { gridOf, projectionOf, sourceOf, viewOf } from './grid.ts';
import { type TileSet, tileAddress } from './tile-set.ts';

export interface TilePlace {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

export interface MapView {
  readonly zoom: number;
  readonly bounds: readonly [number, number, number, number];
}

export interface ConsoleMapEvents {
  onView?(view: MapView): void;
  onTile?(place: TilePlace): void;
  onTileFailed?(address: string): void;
}

/** A map of one tile set, with pictures and drawings over it. */
export class ConsoleMap {
  readonly map: OlMap;
  readonly #tiles = new TileLayer<TileImage>();
  readonly #overlay = new ImageLayer<ImageStatic>({ opacity: 0.5 });
  readonly #events: ConsoleMapEvents;
  #set: TileSet | null = null;
  #grid: TileGrid | null = null;
  #projection: Projection | null = null;

  constructor(target: HTMLElement, events: ConsoleMapEvents) {
    this.#events = events;
    this.map = new OlMap({
      target,
      layers: [this.#tiles, this.#overlay],
      controls: [new Zoom()],
      // Of the six connections that browsers allow a host, some are left for everything else.
      maxTilesLoading: 4,
      interactions: defaultInteractions({ onFocusOnly: false }),
    });
    this.map.on('moveend', () => this.#tellView());
    this.map.on('singleclick', ({ coordinate }) => this.#tellTile(coordinate));
  }

  show(set: TileSet): void {
    const { gridSet } = set;
    const sameGrid = this.#set?.gridSet.name === gridSet.name && this.#set.layer.name === set.layer.name;
    const projection = sameGrid && this.#projection ? this.#projection : projectionOf(gridSet);
    const grid = gridOf(gridSet);
    this.#set = set;
    this.#grid = grid;
    this.#projection = projection;
    const source = sourceOf({
      projection,
      tileGrid: grid,
      wrapX: false,
      addressOf: (z, x, y) => tileAddress(set, z, x, y),
      onTileFailed: (address) => this.#events.onTileFailed?.(address),
    });
    this.#tiles.setSource(set.format.startsWith('image/') ? source : null);
    if (!sameGrid) {
      const view = viewOf(gridSet, projection);
      view.fit([...gridSet.extent], { size: this.map.getSize() ?? [800, 500], nearest: true });
      this.map.setView(view);
    }
    this.#tellView();
  }

  /** A picture of cells over the map; null takes it away. */
  showPicture(url: string | null, bounds: readonly number[]): void {
    const projection = this.#projection;
    if (url === null || !projection) {
      this.#overlay.setSource(null);
      return;
    }
    this.#overlay.setSource(
      new ImageStatic({ url, imageExtent: [...bounds], projection, interpolate: false }),
    );
  }

  add(layer: BaseLayer): void {
    this.map.addLayer(layer);
  }

  lookAt(bounds: readonly number[]): void {
    this.map.getView().fit([...bounds], { nearest: true, padding: [30, 30, 30, 30] });
  }

  /** For the keyboard: the tile in the middle. */
  pickMiddle(): void {
    const centre = this.map.getView().getCenter();
    if (centre) this.#tellTile(centre);
  }

  close(): void {
    this.map.setTarget(undefined);
    this.map.dispose();
  }

  #tellView(): void {
    const view = this.map.getView();
    const resolution = view.getResolution();
    if (!this.#grid || resolution === undefined || !view.getCenter()) return;
    const [minX = 0, minY = 0, maxX = 0, maxY = 0] = view.calculateExtent(this.map.getSize());
    const zoom = this.#grid.getZForResolution(resolution);
    this.#events.onView?.({ zoom, bounds: [minX, minY, maxX, maxY] });
  }

  #tellTile(coordinate: number[]): void {
    const resolution = this.map.getView().getResolution();
    if (!this.#grid || resolution === undefined) return;
    const zoom = this.#grid.getZForResolution(resolution);
    const [z = 0, x = 0, y = 0] = this.#grid.getTileCoordForCoordAndZ(coordinate, zoom);
    if (this.#grid.getFullTileRange(zoom)?.containsXY(x, y)) this.#events.onTile?.({ z, x, y });
  }
}
