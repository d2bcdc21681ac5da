import Feature from 'ol/Feature.js';
import LineString from 'ol/geom/LineString.js';
import Polygon, { fromExtent } from 'ol/geom/Polygon.js';
import VectorLayer from 'ol/layer/Vector.js';
import { fromLonLat } from 'ol/proj.js';
import VectorSource from 'ol/source/Vector.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import type { ConsoleMap } from './console-map.ts';
import type { OfferedLayer, TileSet } from './tile-set.ts';

/** Degrees, longitude first. */
type Lines = readonly (readonly (readonly number[])[])[];

const HALF_WORLD = 20037508.34;
const LAST_ZOOM = 20;
/** Web mercator ends here. */
const MAX_LATITUDE = 85;

const resolutions = Array.from({ length: LAST_ZOOM + 1 }, (_, z) => (2 * HALF_WORLD) / 256 / 2 ** z);

/** A map in web mercator that shows nothing of its own. */
export const BARE_MAP: TileSet<OfferedLayer> = {
  layer: { name: '', title: '', gridSets: [], formats: [], extensions: [], parameters: [] },
  gridSet: {
    name: 'EPSG:900913',
    srs: 'EPSG:900913',
    extent: [-HALF_WORLD, -HALF_WORLD, HALF_WORLD, HALF_WORLD],
    zoomStart: 0,
    zoomStop: LAST_ZOOM,
    resolutions,
    tileSize: [256, 256],
    origins: resolutions.map((): [number, number] => [-HALF_WORLD, HALF_WORLD]),
  },
  format: '',
  parameters: {},
};

/** The outline of a grid set and the edges of its tiles, on a map in web mercator. */
export class GridDrawing {
  readonly #map: ConsoleMap;
  readonly #outline = new VectorSource<Feature>();
  readonly #tiles = new VectorSource<Feature>();
  readonly #data = new VectorSource<Feature>();

  constructor(map: ConsoleMap) {
    this.#map = map;
    const outline = new Style({
      fill: new Fill({ color: 'rgb(242 193 78 / 22%)' }),
      stroke: new Stroke({ color: '#b8790b', width: 3 }),
    });
    const tiles = new Style({ stroke: new Stroke({ color: '#2f6f8f', width: 1 }) });
    map.map.addLayer(new VectorLayer({ source: this.#outline, style: outline }));
    const data = new Style({ stroke: new Stroke({ color: '#c03a2b', width: 2 }) });
    map.map.addLayer(new VectorLayer({ source: this.#tiles, style: tiles }));
    map.map.addLayer(new VectorLayer({ source: this.#data, style: data }));
  }

  /** West, south, east, north of the data; null: not known. */
  showData(degrees: readonly number[] | null): void {
    this.#data.clear();
    const [ring] = degrees ? fromExtent([...degrees]).getCoordinates() : [];
    if (ring) this.#data.addFeature(new Feature(new Polygon([placed(ring)])));
  }

  /** The map moves to the tiles, or to the outline where there are none. */
  show(outline: Lines, tiles: Lines): void {
    const lines = outline.map(placed);
    const ring = lines.length === 1 ? lines[0] : undefined;
    this.#outline.clear();
    this.#outline.addFeatures(
      ring ? [new Feature(new Polygon([ring]))] : lines.map((line) => new Feature(new LineString(line))),
    );
    this.#tiles.clear();
    this.#tiles.addFeatures(tiles.map((line) => new Feature(new LineString(placed(line)))));
    const shown = this.#tiles.isEmpty() ? this.#outline : this.#tiles;
    const extent = shown.getExtent();
    if (extent && !shown.isEmpty()) this.#map.map.getView().fit(extent, { padding: [24, 24, 24, 24] });
  }
}

function placed(line: Lines[number]): number[][] {
  return line.map(([longitude = 0, latitude = 0]) =>
    fromLonLat([longitude, Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, latitude))]),
  );
}
