import { createGazetteer, type Gazetteer } from './gazetteer.ts';
import { layOutLabels, type MeasureText, type PlacedLabel } from './label-layout.ts';
import type { MapProjection } from './map-projection.ts';
import type { MapView } from './map-view.ts';
import { type AtlasDetail, loadWorldAtlas, type WorldAtlas } from './world-atlas.ts';

/** Degrees per pixel down to which a detail is fine enough. */
const COARSE_DOWN_TO = 0.5;
const MEDIUM_DOWN_TO = 0.06;
const TINTS = 6;
const MAX_LAYOUTS = 64;

/** The data that views have needed so far: each is read once and kept. */
export class WorldLibrary {
  readonly #measure: MeasureText;
  readonly #atlases = new Map<string, WorldAtlas>();
  readonly #gazetteers = new Map<MapProjection, Gazetteer>();
  readonly #layouts = new Map<string, readonly PlacedLabel[]>();

  constructor(measure: MeasureText) {
    this.#measure = measure;
  }

  atlasFor(view: MapView): WorldAtlas {
    return this.#atlas(detailFor(view.resolutionX), view.projection);
  }

  gazetteer(projection: MapProjection): Gazetteer {
    const known = this.#gazetteers.get(projection);
    if (known) return known;
    const gazetteer = createGazetteer(this.#atlas('50m', projection), TINTS);
    this.#gazetteers.set(projection, gazetteer);
    return gazetteer;
  }

  /** The names of the whole map at a view's zoom. */
  labels(view: MapView): readonly PlacedLabel[] {
    const key = `${view.projection} ${view.resolutionX.toPrecision(9)} ${view.resolutionY.toPrecision(9)}`;
    const known = this.#layouts.get(key);
    if (known) return known;
    const gazetteer = this.gazetteer(view.projection);
    const { projection, resolutionX, resolutionY } = view;
    const scale = { projection, resolutionX, resolutionY, measure: this.#measure };
    const layout = layOutLabels(gazetteer, scale);
    if (this.#layouts.size >= MAX_LAYOUTS) this.#layouts.clear();
    this.#layouts.set(key, layout);
    return layout;
  }

  #atlas(detail: AtlasDetail, projection: MapProjection): WorldAtlas {
    const key = `${detail} ${projection}`;
    const known = this.#atlases.get(key);
    if (known) return known;
    const atlas = loadWorldAtlas(detail, projection);
    this.#atlases.set(key, atlas);
    return atlas;
  }
}

function detailFor(resolution: number): AtlasDetail {
  if (resolution > COARSE_DOWN_TO) return '110m';
  return resolution > MEDIUM_DOWN_TO ? '50m' : '10m';
}
