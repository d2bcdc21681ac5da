import { getOrCreate } from '../../lib/get-or-create.ts';
import { createGazetteer, type Gazetteer } from './gazetteer.ts';
import { layOutLabels, type MeasureText, type PlacedLabel } from './label-layout.ts';
import type { MapProjection, MapView } from './map-view.ts';
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
