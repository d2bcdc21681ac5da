import { z } from 'zod';
import { boundLayer } from '../../catalog/catalog.ts';
import { tileSetNames } from '../../domain/tile-key.ts';
import type { SelectedTiles } from '../../tasks/tile-selection.ts';
import { mediaTypeOf } from '../auth/request-body.ts';
import { authorIn, type Context } from '../context.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { checkBody, readBody, readQuery } from './read-body.ts';
import {
  invalidateBody,
  invalidateQuery,
  selectionOf,
  tileLines,
  type truncateBody,
} from './tile-selection.ts';
import { amount, tileSetName } from './values.ts';

export const truncateResponse = z.object({
  layer: z.string(),
  dryRun: z.boolean(),
  ...amount,
  tileSets: z.array(z.object({ ...tileSetName, ...amount })),
});
export const invalidateResponse = truncateResponse.extend({ tasks: z.array(z.number().int()) });

export async function truncate(
  call: Call<{ params: 'layer'; body: typeof truncateBody }>,
  { catalog, selections }: ApiDeps,
) {
  const { body } = call;
  const { layer } = boundLayer(catalog, call.params.layer);
  const selection = selectionOf(body, layer, 'any');
  const selected = await selections[body.dryRun ? 'count' : 'truncate'](layer.name, selection);
  return report(call, 'deleted', layer.name, body.dryRun, selected);
}

export async function invalidate(call: Call<{ params: 'layer' }>, { catalog, selections }: ApiDeps) {
  const { layer } = boundLayer(catalog, call.params.layer);
  const body = readInvalidation(call.context);
  const selection = selectionOf(body, layer, 'offered');
  const by = body.renew ? authorIn(call) : null;
  const { marked, tasks } = body.dryRun
    ? { marked: await selections.count(layer.name, selection), tasks: [] }
    : await selections.invalidate(layer.name, selection, by);
  const document = report(call, 'invalidated', layer.name, body.dryRun, marked);
  return { ...document, tasks: tasks.map(({ id }) => id) };
}

/** JSON, or a plain list of tiles with the other fields in the query. */
function readInvalidation(context: Context): z.output<typeof invalidateBody> {
  if (mediaTypeOf(context.headers) !== 'text/plain') return readBody(context, invalidateBody);
  const query = readQuery(context, invalidateQuery);
  return checkBody({ tiles: tileLines(context.body), ...query }, invalidateBody);
}

function report(
  { note }: Call,
  done: string,
  layer: string,
  dryRun: boolean,
  selected: readonly SelectedTiles[],
) {
  const sum = (field: 'tiles' | 'bytes') => selected.reduce((total, one) => total + one[field], 0);
  const all = { dryRun, tiles: sum('tiles'), bytes: sum('bytes') };
  note({ target: `layer:${layer}`, after: all, summary: `${done} ${all.tiles} tiles of ${layer}` });
  const tileSets = selected.map(({ set, tiles, bytes }) => {
    const { layer: _, ...names } = tileSetNames(set);
    return { ...names, tiles, bytes };
  });
  return { layer, ...all, tileSets };
}
