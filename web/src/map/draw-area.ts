import Feature from 'ol/Feature.js';
import GeoJSON from 'ol/format/GeoJSON.js';
import Polygon, { fromExtent } from 'ol/geom/Polygon.js';
import type SimpleGeometry from 'ol/geom/SimpleGeometry.js';
import DragBox from 'ol/interaction/DragBox.js';
import Draw from 'ol/interaction/Draw.js';
import type Interaction from 'ol/interaction/Interaction.js';
import VectorLayer from 'ol/layer/Vector.js';
import { get as knownProjection, transformExtent } from 'ol/proj.js';
import VectorSource from 'ol/source/Vector.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import { coordinateText } from '../format.ts';
import type { ConsoleMap } from './console-map.ts';
import { type Corners, rectangleOf, type Shape } from './shapes.ts';

const DEGREES = 'EPSG:4326';

export type DrawMode = 'none' | 'rectangle' | 'polygon';

export type Area =
  | { readonly kind: 'whole' }
  /** Min x, min y, max x and max y as typed, in the grid set's CRS or in degrees. */
  | { readonly kind: 'bounds'; readonly typed: readonly string[]; readonly degrees?: boolean }
  /** Text that is not GeoJSON with polygons. */
  | { readonly kind: 'text'; readonly text: string }
  /** One of the areas of the configuration file. */
  | { readonly kind: 'named'; readonly name: string }
  /** GeoJSON. */
  | { readonly kind: 'shape'; readonly shape: Shape; readonly crs: 'grid-set' | 'EPSG:4326' };

export const WHOLE: Area = { kind: 'whole' };
export const NOT_TYPED: readonly string[] = ['', '', '', ''];

/** Four empty fields mean the whole layer, in degrees too. */
export function isWhole(area: Area): boolean {
  return area.kind === 'whole' || (area.kind === 'bounds' && area.typed.every((text) => text.trim() === ''));
}

/** The same bounds in degrees or in the grid set's CRS; null where the browser cannot convert them. */
export function areaInUnits(area: Area, srs: string, degrees: boolean): Area | null {
  if (isWhole(area)) return degrees ? { kind: 'bounds', typed: NOT_TYPED, degrees } : WHOLE;
  if (area.kind !== 'bounds' || area.degrees === degrees) return area;
  const bounds = boundsIn(area);
  const [from, to] = degrees ? [srs, DEGREES] : [DEGREES, srs];
  if (!bounds || !knownProjection(srs)) return null;
  return { kind: 'bounds', typed: coordinateTexts(transformExtent([...bounds], from, to)), degrees };
}

/** Null unless all four are numbers, each minimum below its maximum. */
export function boundsIn({ typed }: Extract<Area, { kind: 'bounds' }>): Corners | null {
  const numbers = typed.map((text) => (text.trim() === '' ? Number.NaN : Number(text)));
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = numbers;
  const right = numbers.length === 4 && numbers.every(Number.isFinite) && minX <= maxX && minY <= maxY;
  return right ? [minX, minY, maxX, maxY] : null;
}

/** Null: not GeoJSON with polygons. */
export function shapeIn(text: string): Shape | null {
  try {
    const shape = JSON.parse(text) as Shape;
    return cornersOf(shape) > 2 ? shape : null;
  } catch {
    return null;
  }
}

export function coordinateTexts(numbers: readonly number[]): readonly string[] {
  return numbers.map(coordinateText);
}

/** Visible on dark and on light maps. */
const STYLES = [
  new Style({
    fill: new Fill({ color: 'rgb(242 193 78 / 28%)' }),
    stroke: new Stroke({ color: '#ffffff', width: 6 }),
  }),
  new Style({ stroke: new Stroke({ color: '#a3480b', width: 3 }) }),
];

/** The area of a task on a map: drawn there, or shown as typed. */
export class AreaDrawing {
  readonly #map: ConsoleMap;
  readonly #source = new VectorSource<Feature>();
  readonly #onDrawn: (area: Area) => void;
  #interaction: Interaction | null = null;

  constructor(map: ConsoleMap, onDrawn: (area: Area) => void) {
    this.#map = map;
    this.#onDrawn = (area) => {
      onDrawn(area);
      // As input of the form around the map.
      map.map.getTargetElement().dispatchEvent(new Event('input', { bubbles: true }));
    };
    map.map.addLayer(new VectorLayer({ source: this.#source, style: STYLES }));
  }

  setMode(mode: DrawMode): void {
    if (this.#interaction) this.#map.map.removeInteraction(this.#interaction);
    this.#interaction = mode === 'none' ? null : mode === 'rectangle' ? this.#dragging() : this.#drawing();
    if (this.#interaction) this.#map.map.addInteraction(this.#interaction);
  }

  /** With a resolution the map moves to the area, and no closer than that. */
  show(area: Area, minResolution: number | null = null): void {
    this.#source.clear();
    this.#source.addFeatures(this.#featuresOf(area));
    const bounds = this.#source.getExtent();
    if (minResolution === null || !bounds || this.#source.isEmpty()) return;
    this.#map.map.getView().fit(bounds, {
      size: this.#map.map.getSize() ?? [],
      padding: [40, 40, 40, 40],
      minResolution,
    });
  }

  #dragging(): DragBox {
    const box = new DragBox({ className: 'drag-box' });
    box.on('boxend', () =>
      this.#onDrawn({ kind: 'bounds', typed: coordinateTexts(box.getGeometry().getExtent()) }),
    );
    return box;
  }

  #drawing(): Draw {
    const draw = new Draw({ source: this.#source, type: 'Polygon' });
    draw.on('drawstart', () => this.#source.clear());
    draw.on('drawend', ({ feature }) => {
      const geometry = feature.getGeometry();
      if (!(geometry instanceof Polygon)) return;
      const coordinates = geometry.getCoordinates() as [number, number][][];
      const shape: Shape = { type: 'Polygon', coordinates };
      this.#onDrawn({ kind: 'shape', shape, crs: 'grid-set' });
    });
    return draw;
  }

  #featuresOf(area: Area): Feature[] {
    if (area.kind === 'whole' || area.kind === 'text' || area.kind === 'named') return [];
    if (area.kind === 'bounds') {
      const bounds = boundsIn(area);
      if (!bounds) return [];
      if (!area.degrees) return [new Feature(fromExtent([...bounds]))];
      return this.#featuresOf({ kind: 'shape', shape: rectangleOf(bounds), crs: 'EPSG:4326' });
    }
    const reader = new GeoJSON();
    const projection = this.#map.map.getView().getProjection();
    if (area.crs === 'grid-set') return reader.readFeatures(area.shape);
    // No drawing in a projection that is unknown to the browser.
    if (!knownProjection(projection.getCode())) return [];
    return reader.readFeatures(area.shape, { dataProjection: 'EPSG:4326', featureProjection: projection });
  }
}

/** Corners of all its rings, without the point that closes each. */
export function cornersOf(shape: object): number {
  const features = new GeoJSON().readFeatures(shape);
  const rings = features.flatMap((feature) => {
    const geometry = feature.getGeometry() as SimpleGeometry | undefined;
    const polygons = geometry?.getCoordinates() ?? [];
    return (geometry?.getType() === 'Polygon' ? [polygons] : polygons).flat(1) as unknown[][];
  });
  return rings.reduce((total, ring) => total + ring.length - 1, 0);
}
