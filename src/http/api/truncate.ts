import { z } from 'zod';
import { boundLayer } from '../../catalog/catalog.ts';
import type { SelectedTiles } from '../../tasks/mass-truncation-selection.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { mediaTypeOf } from '../door/request-body.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { checkBody, isDryRun, readBody, readQuery } from '../wire/read-body.ts';
import {
  invalidateBody,
  invalidateQuery,
  selectionOf,
  tileLines,
  truncateBody,
} from '../wire/tile-selection.ts';
import { amount, tileSetName } from '../wire/values.ts';

export const truncateAnswer = z.object({
  layer: z.string(),
  dryRun: z.boolean(),
  ...amount,
  tileSets: z.array(z.object({ ...tileSetName, ...amount })),
});
export const invalidateAnswer = truncateAnswer.extend({ tasks: z.array(z.number().int()) });

/** Below `/api/v1/layers/{layer}`: `truncate` removes a selection of its tiles, `invalidate` marks one as stale. */
export function truncateRoutes({ catalog, massTruncation, invalidation }: RouteDeps): readonly Route[] {
  const path = '/api/v1/layers/{layer}';
  const common = { method: 'POST', role: 'operator', asksOnly: isDryRun } as const;
  return [
    { path: `${path}/truncate`, ...common, handler: truncate },
    { path: `${path}/invalidate`, ...common, handler: invalidate },
  ];

  async function truncate(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const body = readBody(exchange, truncateBody);
    const selection = selectionOf(body, layer, 'any');
    const selected = await massTruncation.truncateSelection(layer.name, selection, body.dryRun);
    return jsonAnswer(told(exchange, 'deleted', layer.name, body.dryRun, selected));
  }

  async function invalidate(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const body = readInvalidation(exchange);
    const selection = selectionOf(body, layer, 'offered');
    const by = body.renew ? { createdBy: callerName(exchange) } : null;
    const { marked, tasks } = body.dryRun
      ? { marked: await invalidation.count(layer.name, selection), tasks: [] }
      : await invalidation.invalidate(layer.name, selection, by);
    const document = told(exchange, 'invalidated', layer.name, body.dryRun, marked);
    return jsonAnswer({ ...document, tasks: tasks.map(({ id }) => id) });
  }
}

/** Or a list of tiles alone; what else there is to say then stands in the address. */
function readInvalidation(exchange: Exchange): z.output<typeof invalidateBody> {
  if (mediaTypeOf(exchange.headers) !== 'text/plain') return readBody(exchange, invalidateBody);
  const asked = readQuery(exchange, invalidateQuery);
  return checkBody({ tiles: tileLines(exchange.body), ...asked }, invalidateBody);
}

/** The answer, which the audit log hears of too. */
function told(
  exchange: Exchange,
  done: string,
  layer: string,
  dryRun: boolean,
  selected: readonly SelectedTiles[],
) {
  const sum = (field: 'tiles' | 'bytes') => selected.reduce((total, one) => total + one[field], 0);
  const all = { dryRun, tiles: sum('tiles'), bytes: sum('bytes') };
  exchange.change = {
    target: `layer:${layer}`,
    after: all,
    summary: `${done} ${all.tiles} tiles of ${layer}`,
  };
  const tileSets = selected.map(({ set: { layer: _, ...set }, tiles, bytes }) => ({ ...set, tiles, bytes }));
  return { layer, ...all, tileSets };
}
