import { type BoundLayer, boundLayer, type Catalog } from '../../catalog/catalog.ts';
import { invalid, shortened, TilewardenError } from '../../domain/errors.ts';
import { type Format, formatOfExtension, hasContentType } from '../../domain/format.ts';
import { levelOf, MAX_LEVELS } from '../../domain/grid-set.ts';
import { RETINA_SUFFIX } from '../../domain/grid-subset.ts';
import { gridSubsetOf, type Layer } from '../../domain/layer.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { isOpenTo, requireVisible } from '../auth/layer-visibility.ts';
import type { Context } from '../context.ts';
import { formatAccepted } from '../negotiate.ts';
import { type Response, withHeaders } from '../response.ts';
import { type Handler, type Route, tileRoute } from '../route.ts';
import { type Kvp, parametersOf, readKvp, withBypass } from './kvp.ts';
import { webMercatorSubset } from './layer-facts.ts';
import type { Services } from './open-services.ts';

/** `/tiles/{layer}[/{gridSet}]/{z}/{x}/{tile}` */
export function createTileService(deps: Services): Handler {
  const { catalog, answerTile, answerAccepted, remembering } = deps;

  return remembering(function tile(context) {
    const name = readTileName(context.param('tile'));
    const index: TileIndex = {
      z: indexOf('zoom', context.param('z')),
      x: indexOf('column', context.param('x')),
      y: indexOf('row', name.row),
    };
    const bound = boundLayer(catalog, context.param('layer'));
    if (isOpenTo(context, bound.layer)) return answer(context, bound, name, index);
    return requireVisible(context, bound.layer).then(() => answer(context, bound, name, index));
  });

  function answer(
    context: Context,
    bound: BoundLayer,
    name: TileName,
    index: TileIndex,
  ): Response | Promise<Response> {
    const { extension } = name;
    if (extension !== null) {
      const { mediaType } = formatNamed(bound.layer, extension);
      return answerTile(context, serveTileSet(context, bound, name, mediaType), index);
    }
    const { mediaType } = formatAccepted(context, bound.layer.formats);
    const answer = answerAccepted(context, serveTileSet(context, bound, name, mediaType), index);
    return Promise.resolve(answer).then((response) => withHeaders(response, ['Vary', 'Accept']));
  }
}

export async function layerFor(
  context: Context,
  catalog: Pick<Catalog, 'layer'>,
  name: string,
): Promise<BoundLayer> {
  const bound = boundLayer(catalog, name);
  if (!isOpenTo(context, bound.layer)) await requireVisible(context, bound.layer);
  return bound;
}

function serveTileSet(
  context: Context,
  bound: BoundLayer,
  { retina }: TileName,
  format: string,
): ResolvedTileSet {
  const { layer } = bound;
  const { gridSet = webMercatorSubset(layer).gridSet.name } = context.params;
  return resolveTileSet(bound, {
    gridSet: retina ? retinaName(layer, gridSet) : gridSet,
    format,
    parameters: parametersOf(context.query, layer.parameters),
  });
}

function retinaName(layer: Layer, gridSet: string): string {
  if (layer.retinaSubsets.length > 0) return `${gridSubsetOf(layer, gridSet).gridSet.name}${RETINA_SUFFIX}`;
  throw invalid(`Layer ${layer.name} has no ${RETINA_SUFFIX} tiles.`);
}

/** Plain decimal, without sign, leading zero or exponent, so that one tile has one address. */
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

export function indexOf(name: 'zoom' | 'column' | 'row', text: string): number {
  if (INDEX.test(text)) return Number(text);
  throw invalid(`The ${name} must be a whole number such as 0 or 12, not ${shortened(text)}.`);
}

/** The last part of a tile's address: `12.png` is row 12 in the format of the extension `png`. */
export function splitRow(text: string): { readonly row: string; readonly extension: string } {
  const dot = text.lastIndexOf('.');
  if (dot > 0) return { row: text.slice(0, dot), extension: text.slice(dot + 1) };
  throw invalid(`A tile's address ends in a row and an extension such as 12.png.`);
}

type TileName = ReturnType<typeof readTileName>;

/**
 * As `splitRow`, where the extension may be missing: `12`, `12.png`, `12@2x`, `12@2x.png`. Without one the caller's
 * `Accept` decides; `@2x` has twice the pixels along each side.
 */
function readTileName(text: string) {
  const dot = text.indexOf('.');
  const stem = dot < 0 ? text : text.slice(0, dot);
  const extension = dot < 0 ? null : text.slice(dot + 1);
  const retina = stem.endsWith(RETINA_SUFFIX);
  const row = retina ? stem.slice(0, -RETINA_SUFFIX.length) : stem;
  const wellFormed = row !== '' && !row.includes('@') && extension !== '' && !extension?.includes('.');
  if (wellFormed) return { row, retina, extension };
  throw invalid(`A tile's address ends in a row, such as 12, 12.png or 12@2x.png, not ${shortened(text)}.`);
}

/** `png` means `image/png` rather than `image/png8`, unless the layer has only the latter. */
export function formatNamed(layer: Layer, extension: string): Format {
  const named = formatOfExtension(extension);
  const match =
    layer.formats.find((format) => format.extensions.includes(extension)) ??
    layer.formats.find((format) => hasContentType(format, named?.contentType ?? ''));
  if (match) return match;
  const offered = layer.formats.map((format) => format.extensions[0]).join(', ');
  throw new TilewardenError(
    'format-unknown',
    `Layer ${layer.name} has no .${shortened(extension)} tiles; it has ${offered}.`,
  );
}

const isPreferred = ({ mediaType }: Format) => mediaType === 'image/png';
const MGMAPS_WORLD = 17;
const WHOLE_NUMBER = /^(?:0|-?[1-9]\d{0,9})$/;

/** Tiles of web mercator, rows from the top. */
export function mercatorRoutes(deps: Services): readonly Route[] {
  const route = (name: string, placeOf: (kvp: Kvp) => TileIndex) => {
    const handler = deps.remembering(mercatorTile(deps, placeOf));
    return [tileRoute(`/service/${name}`, handler), tileRoute(`/service/${name}/`, handler)];
  };
  const place = (kvp: Kvp, z: number) => ({ z, x: integer(kvp, 'X'), y: integer(kvp, 'Y') });
  return [
    ...route('gmaps', (kvp) => place(kvp, integer(kvp, 'ZOOM'))),
    // Mobile GMaps counts down: zoom 17 is the whole world.
    ...route('mgmaps', (kvp) => place(kvp, MGMAPS_WORLD - integer(kvp, 'ZOOM'))),
    // The quadkeys of Bing Maps.
    ...route('ve', (kvp) => tileOfQuadkey(required(kvp, 'QUADKEY'))),
  ];
}

function mercatorTile({ catalog, answerTile }: Services, placeOf: (kvp: Kvp) => TileIndex): Handler {
  return async (context) => {
    const kvp = readKvp(context.query);
    const index = placeOf(kvp);
    const bound = await layerFor(context, catalog, required(kvp, 'LAYERS'));
    const { layer } = bound;
    const { gridSet } = webMercatorSubset(layer);
    const { columns, rows } = levelOf(gridSet, index.z);
    checkCoordinate('X', index.x, columns);
    checkCoordinate('Y', index.y, rows);
    const parameters = parametersOf(context.query, layer.parameters);
    const format = kvp('FORMAT') ?? layer.formats.find(isPreferred)?.mediaType ?? null;
    const tiles = resolveTileSet(bound, { gridSet: gridSet.name, format, parameters });
    return answerTile(context, withBypass(kvp, tiles), index);
  };
}

function required(kvp: Kvp, name: string): string {
  const value = kvp(name);
  if (value !== null) return value;
  throw invalid(`The parameter ${name.toLowerCase()} is missing.`);
}

function integer(kvp: Kvp, name: string): number {
  const text = required(kvp, name);
  if (WHOLE_NUMBER.test(text)) return Number(text);
  throw invalid(`${name.toLowerCase()} must be a whole number such as 0 or 12, not ${shortened(text)}.`);
}

function checkCoordinate(name: 'X' | 'Y', value: number, count: number): void {
  if (value >= 0 && value < count) return;
  throw invalid(`The ${name} coordinate is not sane: ${value}`);
}

const QUADKEY = /^[0-3]*$/;

/** One digit for each zoom, from the top: 1 adds a column, 2 a row, 3 both. `213` is column 3, row 5 at zoom 3. */
export function tileOfQuadkey(quadkey: string): TileIndex {
  if (!QUADKEY.test(quadkey) || quadkey.length >= MAX_LEVELS) {
    throw invalid(
      `A quadkey is made of at most ${MAX_LEVELS - 1} digits 0 to 3, such as 0231; this is not: ${shortened(quadkey)}`,
    );
  }
  let [x, y] = [0, 0];
  for (const digit of quadkey) {
    x = 2 * x + (Number(digit) % 2);
    y = 2 * y + Math.floor(Number(digit) / 2);
  }
  return { z: quadkey.length, x, y };
}
