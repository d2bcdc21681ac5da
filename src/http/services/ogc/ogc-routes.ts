import { shortened } from '../../../domain/errors.ts';
import type { GridSet } from '../../../domain/grid-set.ts';
import { gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import { areOpen, isOpen, visibleLayers } from '../../auth/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import { createPageWriter } from '../../pages/page.ts';
import { HttpProblem } from '../../problems.ts';
import { type Handler, openRoute, type Route } from '../../route.ts';
import { parametersOf } from '../kvp.ts';
import { everyGridSetOf, gridSetsOf, stylesOf } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { layerFor } from '../tiles.ts';
import { describeApi, type OgcRoute } from './api-definition.ts';
import {
  describeCollection,
  describeCollections,
  describeConformance,
  describeLanding,
  describeStyle,
  describeStyles,
  pageAsked,
} from './collections.ts';
import { createDocumentAnswerer, type OgcDocument, withProblemDetails } from './ogc-document.ts';
import { answerOgcTile } from './ogc-tile.ts';
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
export function ogcRoutes({ catalog, answerAccepted, roll, screen, log }: Services): readonly Route[] {
  const crsOf = createOgcCrsNames();
  const answer = createDocumentAnswerer(createPageWriter());
  const routes: OgcRoute[] = [];

  function add(path: string, summary: string, handler: Handler, gives: OgcRoute['gives'] = 'document'): void {
    const route = openRoute(`${ROOT}${path}`, withProblemDetails(screen(handler), log));
    routes.push({ ...route, summary, gives });
  }

  function addFixed(path: string, summary: string, describe: (exchange: Exchange) => Described): void {
    add(path, summary, (exchange) => answer(exchange, { ...describe(exchange), personal: false }));
  }

  /** Of all layers that the caller may see. */
  function addOfAll(
    path: string,
    summary: string,
    describe: (root: string, layers: readonly Layer[], exchange: Exchange) => Described,
  ): void {
    add(path, summary, async (exchange) => {
      const all = await roll();
      const shown = await visibleLayers(exchange, all);
      const personal = !areOpen(all) || exchange.key !== null;
      return answer(exchange, { ...describe(rootOf(exchange), shown, exchange), personal, layers: shown });
    });
  }

  function addOfLayer(
    path: string,
    summary: string,
    describe: (root: string, layer: Layer, exchange: Exchange) => Described,
  ): void {
    add(`${COLLECTION}${path}`, summary, async (exchange) => {
      const { layer } = await layerFor(exchange, catalog, exchange.param('layer'));
      const personal = !isOpen(layer);
      return answer(exchange, { ...describe(rootOf(exchange), layer, exchange), personal, layers: [layer] });
    });
  }

  for (const path of ['', '/']) {
    addFixed(path, 'The landing page', (exchange) => ({
      title: 'OGC API',
      content: describeLanding(rootOf(exchange)),
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
  addOfAll('/tileMatrixSets/{gridSet}', 'A tile matrix set', (_root, layers, exchange) => {
    const gridSet = gridSetNamed(layers, exchange.param('gridSet'));
    return { title: gridSet.name, content: describeTileMatrixSet(gridSet, crsOf(gridSet)) };
  });
  addOfAll('/collections', 'The layers', (root, layers, exchange) => ({
    title: 'Layers',
    content: describeCollections(root, layers, pageAsked(exchange), crsOf),
  }));
  addOfLayer('', 'A layer', (root, layer) => ({
    title: layer.title,
    content: describeCollection(root, layer, crsOf),
  }));
  addOfLayer('/styles', 'The styles of a layer', (root, layer) => ({
    title: `Styles of ${layer.title}`,
    content: describeStyles(root, layer),
  }));
  addOfLayer('/styles/{style}', 'A style of a layer', (root, layer, exchange) => {
    const style = styleAsked(exchange, layer) ?? '';
    return { title: `${layer.title}, ${style}`, content: describeStyle(root, layer, style) };
  });
  const tiles: readonly (readonly [path: string, kind: TileKind, what: string])[] = [
    ['/map/tiles', 'map', 'map'],
    ['/tiles', 'vector', 'vector'],
    ['/styles/{style}/map/tiles', 'map', 'styled map'],
  ];
  for (const [path, kind, what] of tiles) {
    addOfLayer(path, `The ${what} tilesets of a layer`, (root, layer, exchange) => ({
      title: `Tilesets of ${layer.title}`,
      content: describeTilesets(placeAsked(root, layer, kind, exchange), crsOf),
    }));
    addOfLayer(`${path}/{gridSet}`, `A ${what} tileset of a layer`, (root, layer, exchange) => {
      const place = placeAsked(root, layer, kind, exchange);
      const subset = gridSubsetOf(layer, exchange.param('gridSet'));
      const title = `${layer.title}, ${subset.gridSet.name}`;
      return { title, content: describeTileset(place, subset, crsOf) };
    });
    const tile: Handler = async (exchange) => {
      const bound = await layerFor(exchange, catalog, exchange.param('layer'));
      checkKind(bound.layer, kind);
      const parameters = parametersAsked(exchange, bound.layer, styleAsked(exchange, bound.layer));
      return answerOgcTile(answerAccepted, exchange, { bound, kind, parameters });
    };
    add(`${COLLECTION}${path}/{gridSet}/{matrix}/{row}/{column}`, `A ${what} tile`, tile, 'tile');
  }
  return routes;
}

function rootOf(exchange: Exchange): string {
  return `${exchange.baseUrl}${ROOT}`;
}

function gridSetNamed(layers: readonly Layer[], name: string): GridSet {
  const gridSets = everyGridSetOf(layers);
  const found = gridSets.get(name) ?? [...gridSets.values()].find(({ aliases }) => aliases.includes(name));
  if (found) return found;
  throw new HttpProblem('path-unknown', `There is no tile matrix set ${shortened(name)}.`);
}

function placeAsked(root: string, layer: Layer, kind: TileKind, exchange: Exchange): TilesetsPlace {
  checkKind(layer, kind);
  const style = styleAsked(exchange, layer);
  const carried = [...parametersOf(exchange.query, layer.parameters)];
  const inQuery = carried.filter(([name]) => style === null || name !== STYLES);
  return { root, layer, kind, style, query: new URLSearchParams(inQuery).toString() };
}

function checkKind(layer: Layer, kind: TileKind): void {
  if (formatsOf(layer, kind).length > 0) return;
  throw new HttpProblem('path-unknown', `Layer ${layer.name} has no ${kind} tiles.`);
}

/** Null where the address names none. */
function styleAsked(exchange: Exchange, layer: Layer): string | null {
  const { style } = exchange.params;
  if (style === undefined) return null;
  const offered = stylesOf(layer);
  if (offered.includes(style)) return style;
  throw new HttpProblem(
    'path-unknown',
    `Layer ${layer.name} has no style ${shortened(style)}; it has ${offered.join(', ')}.`,
  );
}

/** The path's style goes before the query's. The first one is what is meant when nothing is said. */
function parametersAsked(
  exchange: Exchange,
  layer: Layer,
  style: string | null,
): ReadonlyMap<string, string> {
  const inQuery = parametersOf(exchange.query, layer.parameters);
  if (style === null) return inQuery;
  const others = [...inQuery].filter(([name]) => name !== STYLES);
  return new Map(style === stylesOf(layer)[0] ? others : [...others, [STYLES, style]]);
}
