import { invalid, shortened } from '../../domain/errors.ts';
import type { Format } from '../../domain/format.ts';
import { levelOf, MAX_LEVELS } from '../../domain/grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import { type Handler, type Route, tileRoute } from '../route.ts';
import { type Kvp, parametersOf, readKvp, withBypass } from './kvp.ts';
import { webMercatorSubset } from './layer-facts.ts';
import type { Services } from './open-services.ts';
import { layerFor } from './tiles.ts';

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
    // As Mobile GMaps counts: zoom 17 is the whole world.
    ...route('mgmaps', (kvp) => place(kvp, MGMAPS_WORLD - integer(kvp, 'ZOOM'))),
    // As Bing Maps names its tiles.
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
