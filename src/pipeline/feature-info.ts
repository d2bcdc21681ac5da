import type { BoundLayer } from '../catalog/catalog.ts';
import { invalid, TilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { type Crs, createPlaceMapping, same } from '../domain/pixel-mesh.ts';
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

/** Side in pixels of the map that is centred on a converted place. */
const SIDE = 101;

/** The request for the same place in the CRS of a grid set, at about the same scale; null if it cannot be converted. */
export function infoPlace<Request extends Pick<InfoRequest, 'bounds' | 'width' | 'height' | 'i' | 'j'>>(
  request: Request,
  crs: Crs,
  gridSet: GridSet,
): Request | null {
  const mapping = createPlaceMapping(crs, gridSet);
  if (mapping === same) return request;
  const { bounds, width, height } = request;
  const place = (i: number, j: number) => {
    const x = bounds.minX + ((bounds.maxX - bounds.minX) * (i + 0.5)) / width;
    const y = bounds.maxY - ((bounds.maxY - bounds.minY) * (j + 0.5)) / height;
    const out: [number, number] = [0, 0];
    return mapping?.(x, y, out) ? out : null;
  };
  const here = place(request.i, request.j);
  const beside = place(request.i + 1, request.j) ?? place(request.i - 1, request.j);
  if (!here || !beside) return null;
  const reach = (SIDE / 2) * Math.hypot(beside[0] - here[0], beside[1] - here[1]);
  const [x, y] = here;
  const [i, j] = [(SIDE - 1) / 2, (SIDE - 1) / 2];
  const around = { minX: x - reach, minY: y - reach, maxX: x + reach, maxY: y + reach };
  return { ...request, bounds: around, width: SIDE, height: SIDE, i, j };
}

/**
 * Queries the layer's source at a pixel. Nothing is cached. Throws `request-invalid` when the layer cannot be queried
 * or the map is too large, and `source-…` when the source fails or responds in another form.
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

function checkResponse({ bytes, mediaType }: InfoResponse, format: string): void {
  if (bytes.length > MAX_BYTES) throw badResponse('too-long', `it sent ${bytes.length} bytes`);
  const start = bytes.toString('utf8', 0, EXCERPT);
  if (EXCEPTION.test(start)) throw badResponse('service-exception', start);
  if (!sameType(mediaType, format)) throw badResponse('wrong-type', `asked for ${format}, got ${mediaType}`);
}

/** Without a `Content-Type`, the requested type is assumed. */
function sameType(mediaType: string | null, format: string): boolean {
  if (mediaType === null || mediaType === format) return true;
  const isXml = (type: string) => type.endsWith('/xml') || type.includes('gml');
  const isJson = (type: string) => /[/+]json$/.test(type);
  return (isXml(mediaType) && isXml(format)) || (isJson(mediaType) && isJson(format));
}

function badResponse(reason: string, detail: string): TilewardenError {
  return new TilewardenError('source-bad-answer', 'The map source did not answer GetFeatureInfo.', {
    reason,
    cause: new Error(detail),
  });
}

/** Fetches the legend of a style from the layer's source; its type is detected from the bytes. Nothing is cached. */
export async function askLegend({ layer, source }: BoundLayer, request: LegendRequest): Promise<FeatureInfo> {
  const opened = source();
  if (!opened.legend) throw invalid(`Layer ${layer.name} has no legend: its source is not a WMS.`);
  const { bytes } = await opened.legend(request);
  const mediaType = recogniseImage(bytes);
  if (mediaType && bytes.length <= MAX_BYTES) return { bytes, mediaType };
  throw new TilewardenError('source-bad-answer', 'The map source did not send a legend.', {
    reason: mediaType ? 'too-long' : 'wrong-type',
    cause: new Error(bytes.toString('utf8', 0, 1000)),
  });
}
