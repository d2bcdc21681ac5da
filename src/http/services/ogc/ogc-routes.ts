import { shortened, TilewardenError } from '../../../domain/errors.ts';
import { type Format, formatOf } from '../../../domain/format.ts';
import type { GridSet } from '../../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../../domain/grid-subset.ts';
import { gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import { areOpenToAll, isOpenToAll, visibleLayers } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
import { formatAccepted } from '../../negotiate.ts';
import { createPageWriter } from '../../page.ts';
import { HttpProblem } from '../../problems.ts';
import { type Response, withHeaders } from '../../response.ts';
import { type Handler, openRoute, type Route, tileRoute } from '../../route.ts';
import { parametersOf } from '../kvp.ts';
import { everyGridSetOf, gridSetsOf, stylesOf } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { formatNamed, indexOf, layerFor } from '../tiles.ts';
import {
  describeCollection,
  describeCollections,
  describeConformance,
  describeLanding,
  describeStyle,
  describeStyles,
  requestedPage,
} from './collections.ts';
import {
  createDocumentResponder,
  formatParameter,
  type OgcDocument,
  withProblemDetails,
} from './ogc-document.ts';
import {
  createOgcCrsNames,
  describeTileMatrixSet,
  describeTileMatrixSets,
  describeTileset,
  describeTilesets,
  formatsOf,
  type TileKind,
  type TilesetsPlace,
} from './tilesets.ts';

const ROOT = '/ogc';
const COLLECTION = '/collections/{layer}';
const STYLES = 'STYLES';

type Described = Omit<OgcDocument, 'personal'>;

/** OGC API – Tiles – Part 1: Core 1.0 (OGC 20-057). */
export function ogcRoutes(services: Services): readonly Route[] {
  const { catalog, roll, screen, log } = services;
  const crsOf = createOgcCrsNames();
  const answer = createDocumentResponder(createPageWriter());
  const routes: OgcRoute[] = [];

  function add(path: string, summary: string, handler: Handler, gives: OgcRoute['gives'] = 'document'): void {
    const open = gives === 'tile' ? tileRoute : openRoute;
    const route = open(`${ROOT}${path}`, withProblemDetails(screen(handler), log));
    routes.push({ ...route, summary, gives });
  }

  function addFixed(path: string, summary: string, describe: (context: Context) => Described): void {
    add(path, summary, (context) => answer(context, { ...describe(context), personal: false }));
  }

  function addOfAll(
    path: string,
    summary: string,
    describe: (root: string, layers: readonly Layer[], context: Context) => Described,
  ): void {
    add(path, summary, async (context) => {
      const all = await roll();
      const shown = await visibleLayers(context, all);
      const personal = !areOpenToAll(all) || context.key !== null;
      return answer(context, { ...describe(rootOf(context), shown, context), personal, layers: shown });
    });
  }

  function addOfLayer(
    path: string,
    summary: string,
    describe: (root: string, layer: Layer, context: Context) => Described,
  ): void {
    add(`${COLLECTION}${path}`, summary, async (context) => {
      const { layer } = await layerFor(context, catalog, context.param('layer'));
      const personal = !isOpenToAll(layer);
      return answer(context, { ...describe(rootOf(context), layer, context), personal, layers: [layer] });
    });
  }

  for (const path of ['', '/']) {
    addFixed(path, 'The landing page', (context) => ({
      title: 'OGC API',
      content: describeLanding(rootOf(context)),
    }));
  }
  addFixed('/api', 'This definition', ({ baseUrl }) => ({
    title: 'OGC API: definition',
    content: describeApi(baseUrl, routes),
    jsonType: 'application/vnd.oai.openapi+json;version=3.0',
  }));
  addOfAll('/conformance', 'What the interface conforms to', (root, layers) => ({
    title: 'Conformance',
    content: describeConformance(root, layers),
  }));
  addOfAll('/tileMatrixSets', 'The tile matrix sets', (root, layers) => ({
    title: 'Tile matrix sets',
    content: describeTileMatrixSets(root, gridSetsOf(layers), crsOf),
  }));
  addOfAll('/tileMatrixSets/{gridSet}', 'A tile matrix set', (_root, layers, context) => {
    const gridSet = gridSetNamed(layers, context.param('gridSet'));
    return { title: gridSet.name, content: describeTileMatrixSet(gridSet, crsOf(gridSet)) };
  });
  addOfAll('/collections', 'The layers', (root, layers, context) => ({
    title: 'Layers',
    content: describeCollections(root, layers, requestedPage(context), crsOf),
  }));
  addOfLayer('', 'A layer', (root, layer) => ({
    title: layer.title,
    content: describeCollection(root, layer, crsOf),
  }));
  addOfLayer('/styles', 'The styles of a layer', (root, layer) => ({
    title: `Styles of ${layer.title}`,
    content: describeStyles(root, layer),
  }));
  addOfLayer('/styles/{style}', 'A style of a layer', (root, layer, context) => {
    const style = requestedStyle(context, layer) ?? '';
    return { title: `${layer.title}, ${style}`, content: describeStyle(root, layer, style) };
  });
  const tiles: readonly (readonly [path: string, kind: TileKind, what: string])[] = [
    ['/map/tiles', 'map', 'map'],
    ['/tiles', 'vector', 'vector'],
    ['/styles/{style}/map/tiles', 'map', 'styled map'],
  ];
  for (const [path, kind, what] of tiles) {
    addOfLayer(path, `The ${what} tilesets of a layer`, (root, layer, context) => ({
      title: `Tilesets of ${layer.title}`,
      content: describeTilesets(requestedTilesets(root, layer, kind, context), crsOf),
    }));
    addOfLayer(`${path}/{gridSet}`, `A ${what} tileset of a layer`, (root, layer, context) => {
      const place = requestedTilesets(root, layer, kind, context);
      const subset = gridSubsetOf(layer, context.param('gridSet'));
      const title = `${layer.title}, ${subset.gridSet.name}`;
      return { title, content: describeTileset(place, subset, crsOf) };
    });
    const tile: Handler = (context) => answerOgcTile(services, context, kind);
    add(`${COLLECTION}${path}/{gridSet}/{matrix}/{row}/{column}`, `A ${what} tile`, tile, 'tile');
  }
  return routes;
}

function rootOf(context: Context): string {
  return `${context.baseUrl}${ROOT}`;
}

function gridSetNamed(layers: readonly Layer[], name: string): GridSet {
  const gridSets = everyGridSetOf(layers);
  const gridSet = gridSets.get(name) ?? [...gridSets.values()].find(({ aliases }) => aliases.includes(name));
  if (gridSet) return gridSet;
  throw new HttpProblem('path-unknown', `There is no tile matrix set ${shortened(name)}.`);
}

function requestedTilesets(root: string, layer: Layer, kind: TileKind, context: Context): TilesetsPlace {
  checkKind(layer, kind);
  const style = requestedStyle(context, layer);
  const carried = [...parametersOf(context.query, layer.parameters)];
  const inQuery = carried.filter(([name]) => style === null || name !== STYLES);
  return { root, layer, kind, style, query: new URLSearchParams(inQuery).toString() };
}

function checkKind(layer: Layer, kind: TileKind): void {
  if (formatsOf(layer, kind).length > 0) return;
  throw new HttpProblem('path-unknown', `Layer ${layer.name} has no ${kind} tiles.`);
}

/** Null: no style in the address. */
function requestedStyle(context: Context, layer: Layer): string | null {
  const { style } = context.params;
  if (style === undefined) return null;
  const offered = stylesOf(layer);
  if (offered.includes(style)) return style;
  throw new HttpProblem(
    'path-unknown',
    `Layer ${layer.name} has no style ${shortened(style)}; it has ${offered.join(', ')}.`,
  );
}

/** The path's style takes precedence over the query's. The default is the first. */
function filterValues(context: Context, layer: Layer, style: string | null): ReadonlyMap<string, string> {
  const inQuery = parametersOf(context.query, layer.parameters);
  if (style === null) return inQuery;
  const others = [...inQuery].filter(([name]) => name !== STYLES);
  return new Map(style === stylesOf(layer)[0] ? others : [...others, [STYLES, style]]);
}

/** `…/tiles/{gridSet}/{matrix}/{row}/{column}`: in the format of `f`, else of `Accept`. */
async function answerOgcTile(
  { catalog, answerAccepted }: Services,
  context: Context,
  kind: TileKind,
): Promise<Response> {
  const bound = await layerFor(context, catalog, context.param('layer'));
  const { layer } = bound;
  checkKind(layer, kind);
  const parameters = filterValues(context, layer, requestedStyle(context, layer));
  const subset = gridSubsetOf(layer, context.param('gridSet'));
  const index = requestedIndex(context, subset);
  const named = formatParameter(context);
  const offered = formatsOf(layer, kind);
  const format = named === null ? formatAccepted(context, offered) : tileFormat(layer, offered, named);
  const query = { gridSet: subset.gridSet.name, format: format.mediaType, parameters };
  const answer = await answerAccepted(context, resolveTileSet(bound, query), index);
  return named === null ? withHeaders(answer, ['Vary', 'Accept']) : answer;
}

/** By extension or media type. */
function tileFormat(layer: Layer, offered: readonly Format[], name: string): Format {
  const format = name.includes('/') ? formatOf(name) : formatNamed(layer, name);
  const match = offered.find(({ mediaType }) => mediaType === format?.mediaType);
  if (match) return match;
  const names = offered.map(({ extensions }) => extensions[0]).join(', ');
  throw new TilewardenError('format-unknown', `f must be one of ${names}, not ${shortened(name)}.`);
}

function requestedIndex(context: Context, subset: GridSubset): TileIndex {
  return {
    z: zoomNamed(subset, context.param('matrix')),
    x: indexOf('column', context.param('column')),
    y: indexOf('row', context.param('row')),
  };
}

/** By the level's name, or by its number if no level has that name. */
function zoomNamed(subset: GridSubset, name: string): number {
  const { levels } = subset.gridSet;
  const named = levels.findIndex((level) => level.name === name);
  const z = named >= 0 ? named : levels.findIndex((_, number) => String(number) === name);
  if (z >= 0) return z;
  const offered = levels.filter((_, zoom) => coverageAt(subset, zoom)).map((level) => level.name);
  throw new HttpProblem(
    'path-unknown',
    `There is no tile matrix ${shortened(name)}; there are ${offered[0]} to ${offered.at(-1)}.`,
  );
}

/** Names of path parameters in OGC 20-057. */
const NAMES: Readonly<Record<string, string>> = {
  layer: 'collectionId',
  gridSet: 'tileMatrixSetId',
  matrix: 'tileMatrix',
  row: 'tileRow',
  column: 'tileCol',
  style: 'styleId',
};

interface OgcRoute extends Route {
  readonly summary: string;
  /** The body of a 200. */
  readonly gives: 'document' | 'tile';
}

const PROBLEM = { $ref: '#/components/responses/Problem' };

/** OpenAPI 3.0, derived from the routes. */
function describeApi(base: string, routes: readonly OgcRoute[]): object {
  const described = routes.filter(({ path }) => !path.endsWith('/'));
  return {
    openapi: '3.0.3',
    info: {
      title: 'Tilewarden, OGC API – Tiles',
      version: '1.0.0',
      description: 'Map tiles from a cache. Parameters that a layer knows go into the query.',
    },
    servers: [{ url: `${base}${ROOT}` }],
    paths: Object.fromEntries(described.map((route) => [pathOf(route), { get: operationOf(route) }])),
    components: {
      parameters: { f: FORMAT_PARAMETER },
      responses: {
        Problem: {
          description: 'What is wrong, by RFC 9457',
          content: { 'application/problem+json': { schema: { type: 'object' } } },
        },
      },
    },
  };
}

const FORMAT_PARAMETER = {
  name: 'f',
  in: 'query',
  description:
    'The form of the answer, before what the Accept header says: json or html; png, jpeg, … for tiles',
  schema: { type: 'string' },
};

function pathOf({ path }: OgcRoute): string {
  const rest = path.slice(ROOT.length).replace(/\{(\w+)\}/g, (_, name: string) => `{${NAMES[name] ?? name}}`);
  return rest === '' ? '/' : rest;
}

function operationOf(route: OgcRoute): object {
  const inPath = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = '']) => ({
    name: NAMES[name] ?? name,
    in: 'path',
    required: true,
    schema: { type: name === 'row' || name === 'column' ? 'integer' : 'string' },
  }));
  return {
    summary: route.summary,
    operationId: `get${pathOf(route).replace(/[/{}]+(\w?)/g, (_, letter: string) => letter.toUpperCase()) || 'Landing'}`,
    parameters: [...inPath, { $ref: '#/components/parameters/f' }],
    responses: { 200: successOf(route), 400: PROBLEM, 404: PROBLEM, 406: PROBLEM, default: PROBLEM },
  };
}

function successOf({ gives }: OgcRoute): object {
  if (gives === 'tile') {
    const binary = { schema: { type: 'string', format: 'binary' } };
    return { description: 'The tile', content: { 'image/*': binary } };
  }
  return {
    description: 'The document',
    content: {
      'application/json': { schema: { type: 'object' } },
      'text/html': { schema: { type: 'string' } },
    },
  };
}
