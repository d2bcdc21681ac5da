import type { BoundLayer } from '../catalog/catalog.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import { recogniseImage } from '../raster/check-structure.ts';
import type { InfoRequest, InfoResponse, LegendRequest } from '../sources/tile-source.ts';
import { checkMapSize } from './map-composer.ts';
import type { ResolvedTileSet } from './tile-pipeline.ts';

export type FeatureInfoRequest = Pick<
  InfoRequest,
  'bounds' | 'width' | 'height' | 'i' | 'j' | 'infoFormat' | 'featureCount' | 'signal'
>;

export interface FeatureInfo {
  readonly bytes: Buffer;
  /** One of the layer's info formats. */
  readonly mediaType: string;
}

const MAX_BYTES = 4 * 1024 * 1024;
const EXCEPTION =
  /^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!DOCTYPE[^>]*>\s*)?<(?:\w+:)?(?:ServiceException|Exception)Report\b/;
const EXCERPT = 1000;

/**
 * Queries the layer's source at a pixel. Nothing of it is kept. Throws `request-invalid` when the layer is not
 * to be asked or the map too large, and `source-…` when the source fails or answers in another form.
 */
export async function askFeatureInfo(
  { bound, subset, format, selection }: ResolvedTileSet,
  request: FeatureInfoRequest,
): Promise<FeatureInfo> {
  checkMapSize(request.width, request.height);
  const source = bound.source();
  if (!source.featureInfo || !bound.layer.infoFormats.includes(request.infoFormat)) {
    throw invalid(`Layer ${bound.layer.name} does not support GetFeatureInfo.`);
  }
  const { gridSet } = subset;
  const answer = await source.featureInfo({ ...request, gridSet, format, parameters: selection.values });
  checkResponse(answer, request.infoFormat);
  return { bytes: answer.bytes, mediaType: request.infoFormat };
}

function checkResponse({ bytes, mediaType }: InfoResponse, asked: string): void {
  if (bytes.length > MAX_BYTES) throw refused('too-long', `it sent ${bytes.length} bytes`);
  const start = bytes.toString('utf8', 0, EXCERPT);
  if (EXCEPTION.test(start)) throw refused('service-exception', start);
  if (!sameType(mediaType, asked)) throw refused('wrong-type', `asked for ${asked}, got ${mediaType}`);
}

/** Without a `Content-Type`, the requested type is assumed. */
function sameType(mediaType: string | null, asked: string): boolean {
  if (mediaType === null || mediaType === asked) return true;
  const isXml = (type: string) => type.endsWith('/xml') || type.includes('gml');
  const isJson = (type: string) => /[/+]json$/.test(type);
  return (isXml(mediaType) && isXml(asked)) || (isJson(mediaType) && isJson(asked));
}

function refused(reason: string, detail: string): TilewardenError {
  return new TilewardenError('source-bad-answer', 'The map source did not answer GetFeatureInfo.', {
    reason,
    cause: new Error(detail),
  });
}

/** Fetches the legend of a style from the layer's source; its type is detected from the bytes. Nothing is cached. */
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
