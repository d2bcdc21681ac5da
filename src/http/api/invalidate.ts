import type { z } from 'zod';
import { type Answer, jsonAnswer } from '../answer.ts';
import { mediaTypeOf } from '../door/request-body.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { boundLayer } from '../services/tiles.ts';
import { checkBody, isDryRun, readBody } from '../wire/read-body.ts';
import { tileLines } from '../wire/tile-list.ts';
import { invalidateBody, invalidateQuery, selectionOf } from '../wire/tile-selection.ts';
import { amountOf, selectedDocument } from './truncate.ts';

/** `POST /api/v1/layers/{layer}/invalidate`: marks a selection of a layer's tiles as stale. */
export function invalidateRoutes({ catalog, invalidation }: RouteDeps): readonly Route[] {
  const path = '/api/v1/layers/{layer}/invalidate';
  return [{ method: 'POST', path, role: 'operator', handler: invalidate, asksOnly: isDryRun }];

  async function invalidate(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const body = readRequest(exchange);
    const selection = selectionOf(body, layer, 'offered');
    const { renew, dryRun } = body;
    const by = renew ? { createdBy: callerName(exchange) } : null;
    const { marked, tasks } = dryRun
      ? { marked: await invalidation.count(layer.name, selection), tasks: [] }
      : await invalidation.invalidate(layer.name, selection, by);
    exchange.change = { target: `layer:${layer.name}`, after: { dryRun, ...amountOf(marked) } };
    return jsonAnswer({
      layer: layer.name,
      dryRun,
      ...amountOf(marked),
      tileSets: marked.map(selectedDocument),
      tasks: tasks.map(({ id }) => id),
    });
  }
}

/** Or a list of tiles alone; what else there is to say then stands in the address. */
function readRequest(exchange: Exchange): z.output<typeof invalidateBody> {
  if (mediaTypeOf(exchange.headers) !== 'text/plain') return readBody(exchange, invalidateBody);
  const asked = checkBody(Object.fromEntries(new URLSearchParams(exchange.query)), invalidateQuery);
  return checkBody({ tiles: tileLines(exchange.body), ...asked }, invalidateBody);
}
