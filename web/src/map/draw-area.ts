import type { Feature } from 'ol';
import Polygon from 'ol/geom/Polygon.js';
import Draw, { createBox } from 'ol/interaction/Draw.js';
import VectorLayer from 'ol/layer/Vector.js';
import VectorSource from 'ol/source/Vector.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import type { ConsoleMap } from './console-map.ts';

export type Bounds = readonly [number, number, number, number];
export type Ring = readonly (readonly [number, number])[];
export type DrawMode = 'none' | 'rectangle' | 'polygon';

export type Area =
  | { readonly kind: 'whole' }
  | { readonly kind: 'bounds'; readonly bounds: Bounds }
  | { readonly kind: 'polygon'; readonly ring: Ring };

/** The area of a task on a map: drawn there, or shown as it was typed. */
export class AreaDrawing {
  readonly #map: ConsoleMap;
  readonly #source = new VectorSource<Feature<Polygon>>();
  readonly #onDrawn: (area: Area) => void;
  #draw: Draw | null = null;

  constructor(map: ConsoleMap, onDrawn: (area: Area) => void) {
    this.#map = map;
    this.#onDrawn = onDrawn;
    const style = new Style({
      fill: new Fill({ color: 'rgb(242 193 78 / 28%)' }),
      stroke: new Stroke({ color: '#b8790b', width: 2 }),
    });
    map.add(new VectorLayer({ source: this.#source, style }));
  }

  setMode(mode: DrawMode): void {
    if (this.#draw) this.#map.map.removeInteraction(this.#draw);
    this.#draw = null;
    if (mode === 'none') return;
    const box = mode === 'rectangle';
    const draw = new Draw({
      source: this.#source,
      type: box ? 'Circle' : 'Polygon',
      ...(box && { geometryFunction: createBox() }),
    });
    draw.on('drawstart', () => this.#source.clear());
    draw.on('drawend', ({ feature }) => {
      const geometry = feature.getGeometry();
      if (geometry instanceof Polygon) this.#onDrawn(box ? boundsArea(geometry) : polygonArea(geometry));
    });
    this.#draw = draw;
    this.#map.map.addInteraction(draw);
  }

  show(area: Area, make: (polygon: Polygon) => Feature<Polygon>): void {
    this.#source.clear();
    if (area.kind === 'whole') return;
    const ring = area.kind === 'polygon' ? area.ring : ringOf(area.bounds);
    this.#source.addFeature(make(new Polygon([ring.map(([x, y]) => [x, y])])));
  }
}

function boundsArea(geometry: Polygon): Area {
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = geometry.getExtent();
  return { kind: 'bounds', bounds: [minX, minY, maxX, maxY] };
}

function polygonArea(geometry: Polygon): Area {
  const [ring = []] = geometry.getCoordinates();
  return { kind: 'polygon', ring: ring.map(([x = 0, y = 0]) => [x, y] as const) };
}

function ringOf([minX, minY, maxX, maxY]: Bounds): Ring {
  return [
    [minX, minY],
    [maxX, minY],
    [maxX, maxY],
    [minX, maxY],
    [minX, minY],
  ];
}
