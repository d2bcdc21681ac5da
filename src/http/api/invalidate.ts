import type { Catalog } from '../../catalog/catalog.ts';
import type { Layer } from '../../domain/layer.ts';
import type { Invalidation } from '../../tasks/invalidation.ts';
import type { TruncationSelection } from '../../tasks/mass-truncation-selection.ts';
import { jsonAnswer } from '../answer.ts';
import { requireMediaType } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';
import { callerName } from '../rest/seed.ts';
import type { Handler, Route } from '../route.ts';
import { boundLayer } from '../services/tiles.ts';
import { isDryRun } from '../wire/dry-run.ts';
import { booleanField } from '../wire/task-request.ts';
import { areaOfTiles, tileLines } from '../wire/tile-list.ts';
import { readSelectionObject, selectionOf } from '../wire/tile-selection.ts';
import { childrenNamed, textOf } from '../wire/wire-element.ts';
import { amountOf, selectedDocument } from './truncate.ts';

export interface InvalidateApiDeps {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly invalidation: Invalidation;
}

interface InvalidateRequest {
  readonly selection: TruncationSelection;
  readonly renew: boolean;
  readonly dryRun: boolean;
}

/** `POST /api/v1/layers/{layer}/invalidate`: marks a selection of a layer's tiles as stale. */
export function invalidateRoutes(deps: InvalidateApiDeps): readonly Route[] {
  const path = '/api/v1/layers/{layer}/invalidate';
  return [{ method: 'POST', path, role: 'operator', handler: createInvalidate(deps), asksOnly: isDryRun }];
}

function createInvalidate({ catalog, invalidation }: InvalidateApiDeps): Handler {
  return async (exchange) => {
    const type = requireMediaType(exchange.headers, ['application/json', 'text/plain']);
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const read = type === 'text/plain' ? readLines : readObject;
    const { selection, renew, dryRun } = read(exchange, layer);
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
  };
}

function readObject({ body }: Exchange, layer: Layer): InvalidateRequest {
  const root = readSelectionObject(body, ['tiles', 'renew', 'dryRun']);
  const tiles = childrenNamed(root, 'tiles').map(textOf);
  return {
    selection: { ...selectionOf(root, layer), ...(tiles.length > 0 && { area: areaOfTiles(layer, tiles) }) },
    renew: booleanField(root, 'renew') ?? false,
    dryRun: booleanField(root, 'dryRun') ?? false,
  };
}

/** A list of tiles alone; what else there is to say stands in the address. */
function readLines({ body, query }: Exchange, layer: Layer): InvalidateRequest {
  const given = new URLSearchParams(query);
  return {
    selection: { area: areaOfTiles(layer, tileLines(body)) },
    renew: given.get('renew') === 'true',
    dryRun: given.get('dryRun') === 'true',
  };
}
