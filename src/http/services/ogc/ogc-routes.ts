import { shortened } from '../../../domain/errors.ts';
import type { GridSet } from '../../../domain/grid-set.ts';
import { gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import { areOpen, isOpen, visibleLayers } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
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
import { createDocumentResponder, type OgcDocument, withProblemDetails } from './ogc-document.ts';
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
  const answer = createDocumentResponder(createPageWriter());
  const routes: OgcRoute[] = [];

  function add(path: string, summary: string, handler: Handler, gives: OgcRoute['gives'] = 'document'): void {
    const route = openRoute(`${ROOT}${path}`, withProblemDetails(screen(handler), log));
    routes.push({ ...route, summary, gives });
  }

  function addFixed(path: string, summary: string, describe: (context: Context) => Described): void {
    add(path, summary, (context) => answer(context, { ...describe(context), personal: false }));
  }

  /** Of all layers that the caller may see. */
  function addOfAll(
    path: string,
    summary: string,
    describe: (root: string, layers: readonly Layer[], context: Context) => Described,
  ): void {
    add(path, summary, async (context) => {
      const all = await roll();
      const shown = await visibleLayers(context, all);
      const personal = !areOpen(all) || context.key !== null;
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
      const personal = !isOpen(layer);
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
    content: describeCollections(root, layers, pageAsked(context), crsOf),
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
    const style = styleAsked(context, layer) ?? '';
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
      content: describeTilesets(placeAsked(root, layer, kind, context), crsOf),
    }));
    addOfLayer(`${path}/{gridSet}`, `A ${what} tileset of a layer`, (root, layer, context) => {
      const place = placeAsked(root, layer, kind, context);
      const subset = gridSubsetOf(layer, context.param('gridSet'));
      const title = `${layer.title}, ${subset.gridSet.name}`;
      return { title, content: describeTileset(place, subset, crsOf) };
    });
    const tile: Handler = async (context) => {
      const bound = await layerFor(context, catalog, context.param('layer'));
      checkKind(bound.layer, kind);
      const parameters = parametersAsked(context, bound.layer, styleAsked(context, bound.layer));
      return answerOgcTile(answerAccepted, context, { bound, kind, parameters });
    };
    add(`${COLLECTION}${path}/{gridSet}/{matrix}/{row}/{column}`, `A ${what} tile`, tile, 'tile');
  }
  return routes;
}

function rootOf(context: Context): string {
  return `${context.baseUrl}${ROOT}`;
}

function gridSetNamed(layers: readonly Layer[], name: string): GridSet {
  const gridSets = everyGridSetOf(layers);
  const found = gridSets.get(name) ?? [...gridSets.values()].find(({ aliases }) => aliases.includes(name));
  if (found) return found;
  throw new HttpProblem('path-unknown', `There is no tile matrix set ${shortened(name)}.`);
}

function placeAsked(root: string, layer: Layer, kind: TileKind, context: Context): TilesetsPlace {
  checkKind(layer, kind);
  const style = styleAsked(context, layer);
  const carried = [...parametersOf(context.query, layer.parameters)];
  const inQuery = carried.filter(([name]) => style === null || name !== STYLES);
  return { root, layer, kind, style, query: new URLSearchParams(inQuery).toString() };
}

function checkKind(layer: Layer, kind: TileKind): void {
  if (formatsOf(layer, kind).length > 0) return;
  throw new HttpProblem('path-unknown', `Layer ${layer.name} has no ${kind} tiles.`);
}

/** Null where the address names none. */
function styleAsked(context: Context, layer: Layer): string | null {
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
function parametersAsked(context: Context, layer: Layer, style: string | null): ReadonlyMap<string, string> {
  const inQuery = parametersOf(context.query, layer.parameters);
  if (style === null) return inQuery;
  const others = [...inQuery].filter(([name]) => name !== STYLES);
  return new Map(style === stylesOf(layer)[0] ? others : [...others, [STYLES, style]]);
}
