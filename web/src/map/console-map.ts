import Zoom from 'ol/control/Zoom.js';
import { intersects } from 'ol/extent.js';
import { defaults as defaultInteractions } from 'ol/interaction/defaults.js';
import ImageLayer from 'ol/layer/Image.js';
import TileLayer from 'ol/layer/Tile.js';
import OlMap from 'ol/Map.js';
import Projection from 'ol/proj/Projection.js';
import { get as knownProjection, transform } from 'ol/proj.js';
import ImageStatic from 'ol/source/ImageStatic.js';
import TileImage from 'ol/source/TileImage.js';
import TileGrid from 'ol/tilegrid/TileGrid.js';
import View from 'ol/View.js';
import { TEXTS } from '../texts.ts';
import { type GridSetInfo, type OfferedLayer, type TileSet, tileAddress } from './tile-set.ts';

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

const USUAL = {
  /** Whether the map repeats to the left and right. */
  wrapX: false,
  /** Another grid set shows the same place when both have a place on earth, and another layer where it is there. */
  keepsPlace: false,
  /** Browsers allow a host six connections: some stay free for other requests. */
  maxTilesLoading: 4,
};
/** Times that a layer is smaller than the map, and still seen. */
const MAX_SHRUNK = 4;
export type MapOptions = Readonly<typeof USUAL>;

export class ConsoleMap {
  readonly map: OlMap;
  /** Zoom of the picture over the map; null: a click selects the shown tile. */
  inspectedZoom: number | null = null;
  /** Pale, so that the layer above it stands out. */
  readonly #base = new TileLayer<TileImage>({ opacity: 0.35 });
  readonly #tiles = new TileLayer<TileImage>();
  readonly #overlay = new ImageLayer<ImageStatic>({ opacity: 0.5 });
  readonly #events: ConsoleMapEvents;
  readonly #options: MapOptions;
  #set: TileSet<OfferedLayer> | null = null;
  #grid: TileGrid | null = null;
  #projection: Projection | null = null;
  #hasMoved = false;

  constructor(target: HTMLElement, events: ConsoleMapEvents, options: Partial<MapOptions> = {}) {
    this.#events = events;
    this.#options = { ...USUAL, ...options };
    this.map = new OlMap({
      target,
      layers: [this.#base, this.#tiles, this.#overlay],
      controls: [new Zoom({ zoomInTipLabel: TEXTS.zoomIn, zoomOutTipLabel: TEXTS.zoomOut })],
      maxTilesLoading: this.#options.maxTilesLoading,
      // The wheel and the mouse work immediately, also before the map has the focus.
      interactions: defaultInteractions({ onFocusOnly: false }),
    });
    this.map.on('moveend', () => this.#reportView());
    for (const type of ['pointerdown', 'wheel', 'keydown'] as const)
      target.addEventListener(type, () => {
        this.#hasMoved = true;
      });
    this.map.on('singleclick', ({ coordinate }) => this.#reportTile(coordinate));
  }

  show(set: TileSet<OfferedLayer>): void {
    const { gridSet } = set;
    const gridText = (one: TileSet<OfferedLayer> | null) => JSON.stringify([one?.layer.name, one?.gridSet]);
    const sameGrid = gridText(this.#set) === gridText(set);
    const sameLayer = this.#set?.layer.name === set.layer.name;
    const projection = sameGrid && this.#projection ? this.#projection : projectionOf(gridSet);
    const before = this.#set && this.#options.keepsPlace ? this.map.getView() : null;
    const grid = gridOf(gridSet);
    this.#set = set;
    this.#grid = grid;
    this.#projection = projection;
    const source = this.#sourceOf(set, projection, grid);
    source.on('tileloaderror', ({ tile }) => {
      const [z = 0, x = 0, y = 0] = tile.getTileCoord();
      this.#events.onTileFailed?.(tileAddress(set, z, x, y));
    });
    this.#tiles.setSource(set.format.startsWith('image/') ? source : null);
    if (!sameGrid) {
      const view = viewOf(gridSet, projection);
      const size = this.map.getSize() ?? [800, 500];
      const showAll = () => view.fit([...gridSet.extent], { size, nearest: true });
      showAll();
      const largest = (view.getResolution() ?? 0) * MAX_SHRUNK;
      if (before) keepPlace(before, view);
      const isSeen = intersects(view.calculateExtent(size), [...gridSet.extent]);
      if (!sameLayer && !(isSeen && (view.getResolution() ?? 0) <= largest)) showAll();
      // The picture of the former grid is in another projection.
      this.#overlay.setSource(null);
      this.map.setView(view);
    }
    this.#reportView();
  }

  /** Moves there, and no closer than to a zoom, unless the user has moved the map. */
  open(bounds: readonly number[], zoom: number): void {
    const resolution = this.#set?.gridSet.resolutions[zoom];
    if (this.#hasMoved || resolution === undefined) return;
    this.map.getView().fit([...bounds], { minResolution: resolution, padding: [24, 24, 24, 24] });
  }

  /** A map below the layer; null removes it. */
  showBase(set: TileSet<OfferedLayer> | null): void {
    this.#base.setSource(set && this.#sourceOf(set, projectionOf(set.gridSet), gridOf(set.gridSet)));
  }

  #sourceOf(set: TileSet<OfferedLayer>, projection: Projection, tileGrid: TileGrid): TileImage {
    const tileUrlFunction = ([z = 0, x = 0, y = 0]: number[]) => tileAddress(set, z, x, y);
    return new TileImage({ projection, tileGrid, wrapX: this.#options.wrapX, tileUrlFunction });
  }

  /** An image of cells over the map; null removes it. */
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

  /** At the inspected or else the shown zoom; null before the first one. */
  tileAt(coordinate: number[]): (TilePlace & { readonly offered: boolean }) | null {
    const resolution = this.map.getView().getResolution();
    if (!this.#grid || resolution === undefined) return null;
    const zoom = this.inspectedZoom ?? this.#grid.getZForResolution(resolution);
    const [z = 0, x = 0, y = 0] = this.#grid.getTileCoordForCoordAndZ(coordinate, zoom);
    return { z, x, y, offered: this.#grid.getFullTileRange(zoom)?.containsXY(x, y) ?? false };
  }

  /** For the keyboard: the tile in the middle. */
  pickMiddle(): void {
    const centre = this.map.getView().getCenter();
    if (centre) this.#reportTile(centre);
  }

  close(): void {
    this.map.setTarget(undefined);
    this.map.dispose();
  }

  #reportView(): void {
    const view = this.map.getView();
    const resolution = view.getResolution();
    if (!this.#grid || resolution === undefined || !view.getCenter()) return;
    const [minX = 0, minY = 0, maxX = 0, maxY = 0] = view.calculateExtent(this.map.getSize());
    const zoom = this.#grid.getZForResolution(resolution);
    this.#events.onView?.({ zoom, bounds: [minX, minY, maxX, maxY] });
  }

  #reportTile(coordinate: number[]): void {
    const place = this.tileAt(coordinate);
    if (place?.offered) this.#events.onTile?.(place);
  }
}

function keepPlace(before: View, view: View): void {
  const [from, to] = [before.getProjection(), view.getProjection()];
  const centre = before.getCenter();
  if (!centre || !knownProjection(from.getCode()) || !knownProjection(to.getCode())) return;
  view.setCenter(transform(centre, from, to));
  const metres = (before.getResolution() ?? 1) * (from.getMetersPerUnit() ?? 1);
  view.setResolution(metres / (to.getMetersPerUnit() ?? 1));
}

function projectionOf({ srs, extent }: GridSetInfo): Projection {
  return knownProjection(srs) ?? new Projection({ code: srs, units: 'm', extent: [...extent] });
}

function gridOf(gridSet: GridSetInfo): TileGrid {
  return new TileGrid({
    extent: [...gridSet.extent],
    minZoom: gridSet.zoomStart,
    resolutions: gridSet.resolutions.slice(0, gridSet.zoomStop + 1),
    origins: gridSet.origins.slice(0, gridSet.zoomStop + 1).map((origin) => [...origin]),
    tileSize: [...gridSet.tileSize],
  });
}

/** Shows only the zooms of the grid set, no fractions. */
function viewOf({ resolutions, zoomStart, zoomStop }: GridSetInfo, projection: Projection): View {
  return new View({
    projection,
    resolutions: resolutions.slice(zoomStart, zoomStop + 1),
    constrainResolution: true,
    showFullExtent: true,
  });
}
