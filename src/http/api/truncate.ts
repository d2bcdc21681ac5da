import type { SelectedTiles } from '../../tasks/mass-truncation-selection.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { boundLayer } from '../services/tiles.ts';
import { isDryRun, readBody } from '../wire/read-body.ts';
import { selectionOf, truncateBody } from '../wire/tile-selection.ts';

/** `POST /api/v1/layers/{layer}/truncate`: removes a selection of a layer's tiles, or with `dryRun` only counts it. */
export function truncateRoutes({ catalog, massTruncation }: RouteDeps): readonly Route[] {
  const path = '/api/v1/layers/{layer}/truncate';
  return [{ method: 'POST', path, role: 'operator', handler: truncate, asksOnly: isDryRun }];

  async function truncate(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const body = readBody(exchange, truncateBody);
    const selection = selectionOf(body, layer, 'any');
    const { dryRun } = body;
    const selected = await massTruncation.truncateSelection(layer.name, selection, dryRun);
    exchange.change = { target: `layer:${layer.name}`, after: { dryRun, ...amountOf(selected) } };
    return jsonAnswer({
      layer: layer.name,
      dryRun,
      ...amountOf(selected),
      tileSets: selected.map(selectedDocument),
    });
  }
}

export function amountOf(selected: readonly SelectedTiles[]) {
  return {
    tiles: selected.reduce((sum, { tiles }) => sum + tiles, 0),
    bytes: selected.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

export function selectedDocument({ set, tiles, bytes }: SelectedTiles) {
  const { gridSet, format, parametersId } = set;
  return { gridSet, format, parametersId, tiles, bytes };
}
