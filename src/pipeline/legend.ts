import type { BoundLayer } from '../catalog/catalog.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import { recogniseImage } from '../raster/check-structure.ts';
import type { LegendRequest } from '../sources/tile-source.ts';
import type { FeatureInfo } from './feature-info.ts';

const MAX_BYTES = 4 * 1024 * 1024;

/** Asks the layer's source for the picture that explains a style; what it is, whatever the server called it. Nothing is kept. */
export async function askLegend({ layer, source }: BoundLayer, request: LegendRequest): Promise<FeatureInfo> {
  const asked = source();
  if (!asked.legend) throw invalid(`Layer ${layer.name} has no legend: its source is not a WMS.`);
  const { bytes } = await asked.legend(request);
  const mediaType = recogniseImage(bytes);
  if (mediaType && bytes.length <= MAX_BYTES) return { bytes, mediaType };
  throw new TilewardenError('source-bad-answer', 'The map source did not send a legend.', {
    reason: mediaType ? 'too-long' : 'wrong-type',
    cause: new Error(bytes.toString('utf8', 0, 1000)),
  });
}
