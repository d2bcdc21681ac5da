import type { GridSet } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseOthers, visibleLayers } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { boundLayer } from '../services/tiles.ts';
import { entityTag } from './catalog-changes.ts';
import { gridSetDocument, layerDocument, layerSummary } from './layers-document.ts';

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
