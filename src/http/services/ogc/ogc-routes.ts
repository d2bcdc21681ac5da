import type { BoundLayer } from '../../../catalog/catalog.ts';
import { shortened } from '../../../domain/errors.ts';
import type { GridSet } from '../../../domain/grid-set.ts';
import { everySubset, gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import { isOpen, refuseStrangers, visibleLayers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import { createPageWriter } from '../../pages/page.ts';
import { HttpProblem } from '../../problems.ts';
import { type Handler, openRoute, type Route } from '../../route.ts';
import { parametersOf } from '../kvp.ts';
import type { LayerRoll } from '../layer-documents.ts';
import { stylesOf } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { boundLayer } from '../tiles.ts';
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
import { createDocumentAnswerer, jsonLink, pathPart, selfLinks, withProblemDetails } from './ogc-document.ts';
import { createOgcTile } from './ogc-tile.ts';
import {
  createOgcCrsNames,
  describeTileMatrixSet,
  describeTileset,
  describeTilesets,
  formatsOf,
  type TileKind,
  type TilesetsPlace,
} from './tilesets.ts';

const ROOT = '/ogc';
const COLLECTION = `${ROOT}/collections/{layer}`;
const STYLES = 'STYLES';
const TILE = '{gridSet}/{matrix}/{row}/{column}';

/** OGC API – Tiles – Part 1: Core 1.0 (OGC 20-057). */
export function ogcRoutes(deps: Services): readonly Route[] {
  const routes: OgcRoute[] = [];
  const add = (path: string, summary: string, handler: Handler, gives: OgcRoute['gives'] = 'document') =>
    void routes.push({
      ...openRoute(path, withProblemDetails(deps.screen(handler), deps.log)),
      ...{ summary, gives },
    });
  const desk = createDesk(deps);
  add(ROOT, 'The landing page', desk.landing);
  add(`${ROOT}/`, 'The landing page', desk.landing);
  add(`${ROOT}/api`, 'This definition', (exchange) => desk.api(exchange, routes));
  add(`${ROOT}/conformance`, 'What the interface conforms to', desk.conformance);
  add(`${ROOT}/tileMatrixSets`, 'The tile matrix sets', desk.matrixSets);
  add(`${ROOT}/tileMatrixSets/{gridSet}`, 'A tile matrix set', desk.matrixSet);
  add(`${ROOT}/collections`, 'The layers', desk.collections);
  add(COLLECTION, 'A layer', desk.collection);
  add(`${COLLECTION}/styles`, 'The styles of a layer', desk.styles);
  add(`${COLLECTION}/styles/{style}`, 'A style of a layer', desk.style);
  const tiles: readonly (readonly [path: string, kind: TileKind, what: string])[] = [
    [`${COLLECTION}/map/tiles`, 'map', 'map'],
    [`${COLLECTION}/tiles`, 'vector', 'vector'],
    [`${COLLECTION}/styles/{style}/map/tiles`, 'map', 'styled map'],
  ];
  for (const [path, kind, what] of tiles) {
    add(path, `The ${what} tilesets of a layer`, (exchange) => desk.tilesets(exchange, kind));
    add(`${path}/{gridSet}`, `A ${what} tileset of a layer`, (exchange) => desk.tileset(exchange, kind));
    add(`${path}/${TILE}`, `A ${what} tile`, (exchange) => desk.tile(exchange, kind), 'tile');
  }
  return routes;
}

function createDesk({ catalog, answerAccepted, roll }: Services) {
  const crsOf = createOgcCrsNames();
  const answer = createDocumentAnswerer(createPageWriter());
  const answerOgcTile = createOgcTile(answerAccepted);

  async function layerAsked(exchange: Exchange): Promise<BoundLayer> {
    const bound = boundLayer(catalog, exchange.param('layer'));
    if (!isOpen(bound.layer)) await refuseStrangers(exchange, bound.layer);
    return bound;
  }

  async function placeAsked(exchange: Exchange, kind: TileKind): Promise<TilesetsPlace> {
    const { layer } = await layerAsked(exchange);
    checkKind(layer, kind);
    const style = styleAsked(exchange, layer);
    const carried = [...parametersOf(exchange.query, layer.parameters)];
    const inQuery = carried.filter(([name]) => style === null || name !== STYLES);
    const query = new URLSearchParams(inQuery).toString();
    return { root: rootOf(exchange), layer, kind, style, query };
  }

  return {
    landing: (exchange: Exchange) =>
      answer(exchange, { title: 'OGC API', content: describeLanding(rootOf(exchange)), personal: false }),

    api: (exchange: Exchange, routes: readonly OgcRoute[]) =>
      answer(exchange, {
        title: 'OGC API: definition',
        content: describeApi(exchange.baseUrl, routes),
        jsonType: 'application/vnd.oai.openapi+json;version=3.0',
        personal: false,
      }),

    async conformance(exchange: Exchange) {
      const { shown, personal } = await layersFor(exchange, roll);
      const content = describeConformance(rootOf(exchange), shown);
      return answer(exchange, { title: 'Conformance', content, personal });
    },

    async matrixSets(exchange: Exchange) {
      const { shown, personal } = await layersFor(exchange, roll);
      const root = rootOf(exchange);
      const tileMatrixSets = gridSetsOf(shown).map((gridSet) => {
        const { uri, tileMatrixSetUri } = crsOf(gridSet);
        const address = `${root}/tileMatrixSets/${pathPart(gridSet.name)}`;
        return {
          id: gridSet.name,
          title: gridSet.description === '' ? gridSet.name : gridSet.description,
          ...(tileMatrixSetUri !== null && { uri: tileMatrixSetUri }),
          crs: uri,
          links: [jsonLink(address, 'self', gridSet.name)],
        };
      });
      const content = { tileMatrixSets, links: selfLinks(`${root}/tileMatrixSets`) };
      return answer(exchange, { title: 'Tile matrix sets', content, personal });
    },

    async matrixSet(exchange: Exchange) {
      const { shown, personal } = await layersFor(exchange, roll);
      const subsets = shown.flatMap(everySubset);
      const gridSet = gridSetNamed(
        subsets.map((subset) => subset.gridSet),
        exchange.param('gridSet'),
      );
      const content = describeTileMatrixSet(gridSet, crsOf(gridSet));
      return answer(exchange, { title: gridSet.name, content, personal });
    },

    async collections(exchange: Exchange) {
      const { shown, personal } = await layersFor(exchange, roll);
      const page = pageAsked(exchange);
      const content = describeCollections(rootOf(exchange), shown, page, crsOf);
      return answer(exchange, { title: 'Layers', content, personal });
    },

    async collection(exchange: Exchange) {
      const { layer } = await layerAsked(exchange);
      const content = describeCollection(rootOf(exchange), layer, crsOf);
      return answer(exchange, { title: layer.title, content, personal: !isOpen(layer) });
    },

    async styles(exchange: Exchange) {
      const { layer } = await layerAsked(exchange);
      const content = describeStyles(rootOf(exchange), layer);
      return answer(exchange, { title: `Styles of ${layer.title}`, content, personal: !isOpen(layer) });
    },

    async style(exchange: Exchange) {
      const { layer } = await layerAsked(exchange);
      const style = styleAsked(exchange, layer) ?? '';
      const content = describeStyle(rootOf(exchange), layer, style);
      return answer(exchange, { title: `${layer.title}, ${style}`, content, personal: !isOpen(layer) });
    },

    async tilesets(exchange: Exchange, kind: TileKind) {
      const place = await placeAsked(exchange, kind);
      const { title } = place.layer;
      const content = describeTilesets(place, crsOf);
      return answer(exchange, { title: `Tilesets of ${title}`, content, personal: !isOpen(place.layer) });
    },

    async tileset(exchange: Exchange, kind: TileKind) {
      const place = await placeAsked(exchange, kind);
      const subset = gridSubsetOf(place.layer, exchange.param('gridSet'));
      const content = describeTileset(place, subset, crsOf);
      const title = `${place.layer.title}, ${subset.gridSet.name}`;
      return answer(exchange, { title, content, personal: !isOpen(place.layer) });
    },

    async tile(exchange: Exchange, kind: TileKind) {
      const bound = await layerAsked(exchange);
      checkKind(bound.layer, kind);
      const style = styleAsked(exchange, bound.layer);
      const parameters = parametersAsked(exchange, bound.layer, style);
      return answerOgcTile(exchange, { bound, kind, parameters });
    },
  };
}

function rootOf(exchange: Exchange): string {
  return `${exchange.baseUrl}${ROOT}`;
}

async function layersFor(exchange: Exchange, roll: LayerRoll) {
  const all = await roll();
  return { shown: await visibleLayers(exchange, all), personal: !all.every(isOpen) };
}

function gridSetsOf(layers: readonly Layer[]): readonly GridSet[] {
  const used = layers.flatMap(({ gridSubsets }) => gridSubsets.map(({ gridSet }) => gridSet));
  return [...new Map(used.map((gridSet) => [gridSet.name, gridSet])).values()];
}

function gridSetNamed(gridSets: readonly GridSet[], name: string): GridSet {
  const found =
    gridSets.find((gridSet) => gridSet.name === name) ??
    gridSets.find(({ aliases }) => aliases.includes(name));
  if (found) return found;
  throw new HttpProblem('path-unknown', `There is no tile matrix set ${shortened(name)}.`);
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
