import { z } from 'zod';
import { invalid, TilewardenError } from '../../domain/errors.ts';
import { flag, text } from '../../lib/schemas.ts';
import { CONNECTION_OPTIONS, httpAddress, httpOptions, plainNumber, withQuery } from '../http-options.ts';
import { openMapServer, withoutSecrets } from '../map-server.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import type { InfoRequest, InfoResponse, SourceRequest, TileSource } from '../tile-source.ts';

const SERVICE = /\/(MapServer|ImageServer)\/?$/;

const arcgisSourceOptions = z.strictObject({
  type: z.literal('arcgis'),
  url: httpAddress
    .refine((url) => !URL.canParse(url) || SERVICE.test(new URL(url).pathname), {
      error:
        'must end with /MapServer or /ImageServer, e.g. https://host/arcgis/rest/services/roads/MapServer',
    })
    .describe('Address of a map service or an image service'),
  layers: z
    .string()
    .regex(/^(show|hide|include|exclude):\d+(,\d+)*$/, 'must be like show:0,2; or hide, include, exclude')
    .optional()
    .describe('Which layers of a map service to draw; those that it shows by default when left out'),
  transparent: flag.describe('Ask for a transparent background where the format has one'),
  parameters: z
    .record(text, z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({})
    .describe('Sent with every request, e.g. layerDefs, renderingRule, mosaicRule, time'),
  token: text.optional().describe('Sent with every request; never shown'),
  ...httpOptions,
});

type ArcgisSourceOptions = z.output<typeof arcgisSourceOptions>;

export const arcgisDriver = {
  type: 'arcgis',
  options: arcgisSourceOptions,
  shown: ['url', 'layers'],
  connection: ['token', ...CONNECTION_OPTIONS],
  pictures: 'drawn',
  passesCredentials: true,
  queryable: true,
  open: openArcgisSource,
} as const satisfies SourceDriver<ArcgisSourceOptions>;

/** Dots per inch of an ordinary screen in ArcGIS. */
const DPI = 96;
const GOOGLE_MERCATOR = 900913;
/** Parameters in ArcGIS's spelling; those of a request are in upper case. */
const NAMES = [
  'layers layerDefs time layerTimeOptions gdbVersion historicMoment dynamicLayers renderingRule mosaicRule',
  'bandIds interpolation noData noDataInterpretation adjustAspectRatio',
].flatMap((names) => names.split(' '));
/** Pixels around the requested pixel in which features are found. */
const TOLERANCE = 3;
const INFO_FORMATS = new Map([
  ['text/html', 'html'],
  ['application/json', 'json'],
]);

/** Requests whole metatiles from a map service or an image service of ArcGIS. */
function openArcgisSource(
  options: ArcgisSourceOptions,
  { upstream }: Pick<SourceTools, 'upstream'>,
): TileSource {
  const server = openMapServer(options, upstream);
  const [, kind] = SERVICE.exec(new URL(options.url).pathname) ?? [];
  const isImages = kind === 'ImageServer';

  function addressOf(operation: string, own: Readonly<Record<string, string>>): URL {
    const url = new URL(options.url);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${operation}`;
    const token = options.token === undefined ? {} : { token: options.token };
    return withQuery(url.href, Object.entries({ ...options.parameters, ...own, ...token }));
  }

  function pictureAddress(request: SourceRequest): URL {
    const { gridSet, bounds, width, height, format } = request;
    const { minX, minY, maxX, maxY } = bounds;
    const srs = wkidOf(gridSet.srs);
    return addressOf(isImages ? 'exportImage' : 'export', {
      ...(options.layers !== undefined && !isImages && { layers: options.layers }),
      ...ownNames(request.parameters),
      bbox: [minX, minY, maxX, maxY].map(plainNumber).join(','),
      bboxSR: srs,
      imageSR: srs,
      size: `${width},${height}`,
      ...(!isImages && { dpi: String(DPI * gridSet.pixelRatio) }),
      format: format.mediaType === 'image/jpeg' ? 'jpg' : 'png32',
      transparent: String(options.transparent && format.alpha),
      f: 'image',
    });
  }

  function infoAddress({ gridSet, bounds, width, height, i, j, ...request }: InfoRequest, f: string): URL {
    const { minX, minY, maxX, maxY } = bounds;
    const x = minX + ((i + 0.5) / width) * (maxX - minX);
    const y = maxY - ((j + 0.5) / height) * (maxY - minY);
    const sr = wkidOf(gridSet.srs);
    const point = { geometryType: 'esriGeometryPoint', returnGeometry: 'false', f };
    if (isImages) {
      const geometry = JSON.stringify({ x, y, spatialReference: { wkid: Number(sr) } });
      return addressOf('identify', { ...point, geometry });
    }
    return addressOf('identify', {
      ...ownNames(request.parameters),
      ...point,
      geometry: `${plainNumber(x)},${plainNumber(y)}`,
      sr,
      layers: queried(options.layers),
      tolerance: String(TOLERANCE),
      mapExtent: [minX, minY, maxX, maxY].map(plainNumber).join(','),
      imageDisplay: `${width},${height},${DPI * gridSet.pixelRatio}`,
    });
  }

  async function featureInfo(request: InfoRequest): Promise<InfoResponse> {
    const form = INFO_FORMATS.get(request.infoFormat);
    if (!form)
      throw invalid(`An arcgis source answers GetFeatureInfo as ${[...INFO_FORMATS.keys()].join(' or ')}.`);
    const url = infoAddress(request, form);
    const { bytes, mediaType } = await server.get({ url, priority: 'interactive', signal: request.signal });
    if (form === 'html') return { bytes, mediaType };
    checkJson(bytes);
    // Some versions send JSON as plain text.
    return { bytes, mediaType: request.infoFormat };
  }

  return {
    maxMetatile: null,
    confirms: true,
    addressOf: (request) => withoutSecrets(pictureAddress(request)),
    async fetch(request) {
      const type = request.format.mediaType === 'image/jpeg' ? 'image/jpeg' : 'image/png';
      return server.picture(request, { url: pictureAddress(request) }, type);
    },
    featureInfo,
    close: server.close,
  };
}

function ownNames(parameters: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const ownName = (name: string) => NAMES.find((known) => known.toUpperCase() === name) ?? name;
  return Object.fromEntries(Array.from(parameters, ([name, value]) => [ownName(name), value]));
}

/** The layers for `identify`, which cannot exclude any. */
function queried(layers: string | undefined): string {
  const [, ids] = /^(?:show|include):(.*)$/.exec(layers ?? '') ?? [];
  return ids === undefined ? 'visible' : `visible:${ids}`;
}

function wkidOf(srs: number): string {
  return String(srs === GOOGLE_MERCATOR ? 3857 : srs);
}

/** Bytes; a longer response is no error. */
const MAX_ERROR = 64 * 1024;

/** ArcGIS reports errors with status 200. */
export function checkJson(bytes: Buffer): void {
  if (bytes.length > MAX_ERROR) return;
  const text = bytes.toString('utf8');
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === 'object' && answer !== null && !('error' in answer)) return;
  } catch {
    // Not JSON: an error too.
  }
  throw new TilewardenError('source-bad-answer', 'The map source did not answer GetFeatureInfo.', {
    reason: 'service-exception',
    cause: new Error(text.slice(0, 1000)),
  });
}
