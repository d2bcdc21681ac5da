import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { writeJson } from '../../lib/write-json.ts';
import type { Handler } from '../route.ts';
import type { DocumentAnswerer, LayerDocument } from './layer-documents.ts';

/** `/tiles.json`: what a map needs to show any layer in any of its grid sets. */
export function createLayerList(documentOf: (document: LayerDocument) => DocumentAnswerer): Handler {
  return documentOf({ write: writeList, contentType: 'application/json' }).aboutAll;
}

function* writeList(layers: readonly Layer[]): Iterable<string> {
  yield '{"layers":[';
  for (const [index, layer] of layers.entries()) {
    yield `${index === 0 ? '' : ','}${writeJson(describeLayer(layer))}`;
  }
  yield ']}';
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
