import type { Catalog } from '../../catalog/catalog.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { jsonAnswer } from '../answer.ts';
import { visibleLayers } from '../door/layer-visibility.ts';
import type { Handler } from '../route.ts';

/** `/tiles.json`: what a map needs to show any layer in any of its grid sets. */
export function createLayerList(catalog: Pick<Catalog, 'layers'>): Handler {
  return async (exchange) => {
    const layers = (await visibleLayers(exchange, catalog.layers())).map(describeLayer);
    return jsonAnswer({ layers }, ['Cache-Control', 'private, no-cache']);
  };
}

function describeLayer(layer: Layer): object {
  return {
    name: layer.name,
    title: layer.title,
    attribution: layer.attribution,
    retina: layer.retinaSubsets.length > 0,
    ...layerOffer(layer),
  };
}

/** What can be asked of a layer, as those need it who draw it. */
export function layerOffer(layer: Layer) {
  return {
    gridSets: layer.gridSubsets.map(describeSubset),
    formats: layer.formats.map((format) => format.mediaType),
    extensions: layer.formats.map((format) => format.extensions[0]),
    parameters: layer.parameters.map(({ name, defaultValue, values }) => ({
      name,
      default: defaultValue,
      values,
    })),
  };
}

function describeSubset({ gridSet, extent, zoomStart, zoomStop }: GridSubset) {
  return {
    name: gridSet.name,
    srs: `EPSG:${gridSet.srs}`,
    extent: [extent.minX, extent.minY, extent.maxX, extent.maxY],
    zoomStart,
    zoomStop,
    resolutions: gridSet.levels.map((level) => level.resolution),
    tileSize: [gridSet.tileWidth, gridSet.tileHeight],
    origins: gridSet.levels.map((level) => [gridSet.extent.minX, level.top]),
  };
}
