import { type Canvas, createCanvas, Path2D, type SKRSContext2D } from '@napi-rs/canvas';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { createGazetteer, type Gazetteer } from './gazetteer.ts';
import { type Graticule, graticuleOf } from './graticule.ts';
import { layOutLabels, type PlacedLabel } from './label-layout.ts';
import { createTextMeasure, paintDegrees, paintNames, registerMapFont } from './label-painter.ts';
import { type AtlasDetail, loadWorldAtlas, type MapShape, type WorldAtlas } from './map-shape.ts';
import { type MapStyle, type MapStyleName, STYLES, type Stroke } from './map-style.ts';
import { type MapProjection, type MapView, projectLatitude } from './map-view.ts';
import { traceShapes, UNITS_PER_PIXEL } from './trace-shapes.ts';

/** Degrees per pixel down to which a detail is fine enough. */
const COARSE_DOWN_TO = 0.5;
const MEDIUM_DOWN_TO = 0.06;
const TINTS = 6;
const MAX_LAYOUTS = 64;

/** Caches map data, which are read and computed once. */
class WorldLibrary {
  readonly #measure = createTextMeasure();
  readonly #atlases = new Map<string, WorldAtlas>();
  readonly #gazetteers = new Map<MapProjection, Gazetteer>();
  readonly #layouts = new Map<string, readonly PlacedLabel[]>();

  atlasFor(view: MapView): WorldAtlas {
    return this.#atlas(detailFor(view.resolutionX), view.projection);
  }

  gazetteer(projection: MapProjection): Gazetteer {
    return getOrCreate(this.#gazetteers, projection, () =>
      createGazetteer(this.#atlas('50m', projection), TINTS),
    );
  }

  /** The names of the whole map at a view's zoom. */
  labels(view: MapView): readonly PlacedLabel[] {
    const key = `${view.projection} ${view.resolutionX.toPrecision(9)} ${view.resolutionY.toPrecision(9)}`;
    if (this.#layouts.size >= MAX_LAYOUTS && !this.#layouts.has(key)) this.#layouts.clear();
    return getOrCreate(this.#layouts, key, () =>
      layOutLabels(this.gazetteer(view.projection), { ...view, measure: this.#measure }),
    );
  }

  #atlas(detail: AtlasDetail, projection: MapProjection): WorldAtlas {
    return getOrCreate(this.#atlases, `${detail} ${projection}`, () => loadWorldAtlas(detail, projection));
  }
}

function detailFor(resolution: number): AtlasDetail {
  if (resolution > COARSE_DOWN_TO) return '110m';
  return resolution > MEDIUM_DOWN_TO ? '50m' : '10m';
}

/** Steps per pixel to which `traceShapes` rounds; wide strokes hide small bends, but take long to draw around them. */
const FINE_STEPS = 4;
const COARSE_STEPS = 0.5;
/** In degrees per pixel. */
const NAMES_BELOW_RESOLUTION = 0.6;
const WIDE_STROKES_BELOW_RESOLUTION = 0.2;
const DEGREES_BELOW_RESOLUTION = 0.03;

/** Draws pieces of the world map. Caches its data and its canvas; belongs to one thread. */
export class MapPainter {
  readonly #library: WorldLibrary;
  #canvas: Canvas | null = null;

  constructor() {
    registerMapFont();
    this.#library = new WorldLibrary();
  }

  /** RGBA, every pixel opaque. */
  paint(view: MapView, styleName: MapStyleName): Uint8Array<ArrayBuffer> {
    const style = STYLES[styleName];
    const canvas = this.#canvasFor(view);
    const context = canvas.getContext('2d');
    context.setTransform(view.pixelRatio, 0, 0, view.pixelRatio, 0, 0);
    const atlas = this.#library.atlasFor(view);
    const graticule = graticuleOf(view);
    const wideStrokes = view.resolutionX < WIDE_STROKES_BELOW_RESOLUTION;
    context.fillStyle = style.sea;
    context.fillRect(0, 0, view.width, view.height);
    const lines = (shapes: readonly MapShape[], steps: number, strokes: readonly Stroke[]) =>
      strokes.length > 0 && stroke(context, new Path2D(traceShapes(view, shapes, steps)), strokes);
    if (wideStrokes) lines(atlas.coasts, COARSE_STEPS, style.shallows);
    for (const [colour, rings] of this.#ringsByColour(view, style, atlas)) {
      inUnits(context, () => {
        context.fillStyle = colour;
        context.fill(new Path2D(traceShapes(view, rings, FINE_STEPS)), 'evenodd');
      });
    }
    paintGraticule(context, view, style, graticule);
    if (wideStrokes && style.borderTint) lines(atlas.borders, COARSE_STEPS, [style.borderTint]);
    lines(atlas.borders, FINE_STEPS, [style.border]);
    lines(atlas.coasts, FINE_STEPS, [style.coast]);
    const names = view.resolutionX < NAMES_BELOW_RESOLUTION ? this.#library.labels(view) : [];
    if (view.resolutionX < DEGREES_BELOW_RESOLUTION) paintDegrees(context, view, style, graticule, names);
    paintNames(context, view, style, names);
    return new Uint8Array(canvas.data());
  }

  /** A canvas has memory that the garbage collector does not see, so one canvas is reused. */
  #canvasFor(view: MapView): Canvas {
    const [width, height] = [view.width * view.pixelRatio, view.height * view.pixelRatio];
    if (this.#canvas?.width === width && this.#canvas.height === height) return this.#canvas;
    this.#canvas = createCanvas(width, height);
    return this.#canvas;
  }

  #ringsByColour(view: MapView, style: MapStyle, atlas: WorldAtlas): Map<string, MapShape[]> {
    const gazetteer = this.#library.gazetteer(view.projection);
    const byColour = new Map<string, MapShape[]>();
    for (const country of atlas.countries) {
      const tint = gazetteer.get(country.name)?.tint ?? 0;
      const colour = tint < 0 ? style.ice : (style.land[tint % style.land.length] ?? style.ice);
      getOrCreate(byColour, colour, () => []).push(...country.rings);
    }
    return byColour;
  }
}

function stroke(context: SKRSContext2D, path: Path2D, strokes: readonly Stroke[]): void {
  inUnits(context, () => {
    context.lineJoin = 'round';
    for (const { colour, width } of strokes) {
      context.strokeStyle = colour;
      context.lineWidth = width * UNITS_PER_PIXEL;
      context.stroke(path);
    }
  });
}

function inUnits(context: SKRSContext2D, draw: () => void): void {
  context.save();
  context.scale(1 / UNITS_PER_PIXEL, 1 / UNITS_PER_PIXEL);
  draw();
  context.restore();
}

function paintGraticule(context: SKRSContext2D, view: MapView, style: MapStyle, graticule: Graticule): void {
  const north = -projectLatitude(view.projection, 90) / view.resolutionY - view.top;
  const south = -projectLatitude(view.projection, -90) / view.resolutionY - view.top;
  const top = Math.max(0, north);
  const bottom = Math.min(view.height, south);
  for (const { degrees, at } of graticule.meridians) {
    context.fillStyle = degrees % 360 === 0 ? style.mainLines : style.graticule;
    if (bottom > top) context.fillRect(at, top, 1, bottom - top);
  }
  for (const { degrees, at } of graticule.parallels) {
    context.fillStyle = degrees === 0 ? style.mainLines : style.graticule;
    context.fillRect(0, at, view.width, 1);
  }
}
