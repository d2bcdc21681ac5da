import type { BoundLayer } from '../../catalog/bound-layer.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import { isoTime } from '../../lib/clock.ts';
import type { LayerState } from '../../pipeline/layer-activity.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseOthers, visibleLayers } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { layerOffer } from '../services/layer-list.ts';
import { boundLayer } from '../services/tiles.ts';
import { entityTag } from './catalog-changes.ts';

/** `/api/v1/layers`, `/api/v1/layers/{layer}` and `/api/v1/gridsets`: what is declared. */
export function layerRoutes({ catalog, editor, layerState }: RouteDeps): readonly Route[] {
  const path = '/api/v1/layers';
  return [
    { method: 'GET', path, role: 'viewer', handler: list },
    { method: 'GET', path: `${path}/{layer}`, role: 'viewer', handler: show },
    { method: 'GET', path: '/api/v1/gridsets', role: 'viewer', handler: listGridSets },
  ];

  async function list(exchange: Exchange): Promise<Answer> {
    const layers = await visibleLayers(exchange, catalog.layers());
    return jsonAnswer({ layers: layers.map((layer) => layerSummary(layer, layerState(layer.name))) });
  }

  async function show(exchange: Exchange): Promise<Answer> {
    const bound = boundLayer(catalog, exchange.param('layer'));
    await refuseOthers(exchange, bound.layer);
    const entry = await editor.show('layer', bound.layer.name);
    const { origin = 'file', version = null, document = null } = entry ?? {};
    const tag = version === null ? [] : ['ETag', entityTag(version)];
    return jsonAnswer(
      { ...layerDocument(bound, layerState(bound.layer.name)), origin, version, document },
      tag,
    );
  }

  async function listGridSets(exchange: Exchange): Promise<Answer> {
    const layers = await visibleLayers(exchange, catalog.layers());
    return jsonAnswer({ gridSets: [...gridSetsOf(layers).values()].map(gridSetDocument) });
  }
}

/** Those that a layer uses. */
function gridSetsOf(layers: Iterable<Layer>): ReadonlyMap<string, GridSet> {
  const found = new Map<string, GridSet>();
  for (const { gridSubsets } of layers) {
    for (const { gridSet } of gridSubsets) found.set(gridSet.name, gridSet);
  }
  return found;
}

/** A line of a list of thousands. */
function layerSummary(layer: Layer, state: LayerState) {
  return {
    name: layer.name,
    title: layer.title,
    access: layer.access,
    gridSets: layer.gridSubsets.map(({ gridSet }) => gridSet.name),
    formats: layer.formats.map((format) => format.mediaType),
    ...stateDocument(state),
  };
}

function stateDocument({ changedAt, failures, lastFailure }: LayerState) {
  return {
    changedAt: isoTime(changedAt),
    failures,
    lastFailure: lastFailure && { ...lastFailure, at: isoTime(lastFailure.at) },
  };
}

/** All that a client must know to show, seed or truncate a layer, where it comes from, and its settings in effect. */
function layerDocument({ layer, declared }: BoundLayer, state: LayerState) {
  return {
    name: layer.name,
    title: layer.title,
    description: layer.description,
    access: layer.access,
    source: sourceDocument(declared?.source),
    store: declared?.store ?? null,
    adopts: (declared?.adopt ?? []).map(
      (adopted) => `${adopted.layout}: ${adopted.layout === 'mbtiles' ? adopted.file : adopted.folder}`,
    ),
    attribution: layer.attribution,
    ...layerOffer(layer),
    metatile: [layer.metatile.columns, layer.metatile.rows],
    gutter: layer.gutter,
    expireCacheSeconds: layer.expireCacheSeconds,
    expireCacheByZoom: layer.expireCacheByZoom,
    expireClientsSeconds: layer.expireClientsSeconds,
    expireClientsByZoom: layer.expireClientsByZoom,
    followSource: layer.followSource,
    staleWhileRevalidateSeconds: layer.staleWhileRevalidateSeconds,
    staleIfErrorSeconds: layer.staleIfErrorSeconds,
    outside: layer.outside,
    blankIsRight: layer.blankIsRight,
    fullWms: layer.fullWms,
    infoFormats: layer.infoFormats,
    ...stateDocument(state),
  };
}

/** Options that hold no secret. Addresses are shown without query and user: keys stand there. */
const SHOWN_OPTIONS = [
  'type',
  'url',
  'path',
  'layer',
  'layers',
  'styles',
  'style',
  'version',
  'gridSet',
  'tileMatrixSet',
] as const;

function sourceDocument(source: unknown): Record<string, string> {
  const given = Object.entries(Object(source) as Record<string, unknown>);
  const shown = SHOWN_OPTIONS.flatMap((option) => given.filter(([name, value]) => name === option && value));
  return Object.fromEntries(
    shown.map(([name, value]) => [name, name === 'url' ? addressOnly(value) : String(value)]),
  );
}

function addressOnly(value: unknown): string {
  const addresses = [value].flat().map(String);
  return addresses.map((url) => url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//')).join(', ');
}

function gridSetDocument(gridSet: GridSet) {
  const { extent } = gridSet;
  return {
    name: gridSet.name,
    aliases: gridSet.aliases,
    description: gridSet.description,
    srs: `EPSG:${gridSet.srs}`,
    extent: [extent.minX, extent.minY, extent.maxX, extent.maxY],
    tileSize: [gridSet.tileWidth, gridSet.tileHeight],
    levels: gridSet.levels.map(({ name, resolution, scaleDenominator, columns, rows }) => ({
      name,
      resolution,
      scaleDenominator,
      columns,
      rows,
    })),
  };
}
