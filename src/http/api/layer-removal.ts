import { z } from 'zod';
import type { AuditEntry } from '../../access/audit-log.ts';
import type { Caller } from '../../access/caller.ts';
import type { EntryChanged } from '../../catalog/catalog-editor.ts';
import { isTilewardenError } from '../../domain/errors.ts';
import { isRecord } from '../../lib/value-path.ts';
import { UNFINISHED } from '../../tasks/task.ts';
import type { ChangeNote } from '../context.ts';
import { jsonResponse } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withTaskShape } from './areas.ts';
import {
  changeDocument,
  declarationResponse,
  type dryRunQuery,
  expectedBy,
  removalNote,
} from './catalog-changes.ts';
import { declarationOf, scheduleBody } from './schedule-document.ts';
import { documentOf } from './schedules.ts';
import { count, texts } from './values.ts';

export const removalResponse = declarationResponse.extend({
  dependents: z.object({
    feeds: texts.describe('Feeds of data changes that name it: they fail without it'),
    keys: texts.describe('Keys for readers that name it, not by a pattern: they stay'),
    schedules: texts.describe('They are removed, and come back when the layer is restored'),
    tasks: count.describe('Unfinished tasks: they are stopped'),
    quota: z.boolean().describe('Whether it has a quota of its own, which is removed'),
  }),
});

export const restoredResponse = declarationResponse.extend({
  schedules: texts.describe('Those that came back with the layer'),
  lost: texts.describe('Schedules that could not be restored'),
});

/** With `dryRun` only reports the tiles that would go, and what depends on the layer. */
export async function removeLayer(call: Call<{ query: typeof dryRunQuery; params: 'layer' }>, deps: ApiDeps) {
  const { query, caller, context, params, note } = call;
  const options = { by: caller.name, dryRun: query.dryRun, ...expectedBy(context) };
  if (!query.dryRun) {
    note(await removeNoted(params.layer, options, deps));
    return undefined;
  }
  const change = await deps.editor.remove('layer', params.layer, options);
  return jsonResponse({ ...changeDocument(change), dependents: await dependentsOf(params.layer, deps) });
}

type Removal = Parameters<ApiDeps['editor']['remove']>[2];

/** The note keeps the schedules that go with the layer, so that they can be restored with it. */
export async function removeNoted(layer: string, options: Removal, deps: ApiDeps): Promise<ChangeNote> {
  const schedules = await deps.schedules.list(layer);
  const documents = await Promise.all(schedules.map((schedule) => documentOf(schedule, deps)));
  return removalNote(await deps.editor.remove('layer', layer, options), documents);
}

async function dependentsOf(layer: string, { changes, accounts, schedules, tasks, quota }: ApiDeps) {
  const feeds = (await changes.list()).filter(({ layers }) => layers.includes(layer));
  const keys = (await accounts.readerKeys.list()).filter(({ layers }) => layers.includes(layer));
  const { state } = await tasks.count({ layers: [layer], states: UNFINISHED });
  const { layerQuotas } = await quota.settings.read();
  return {
    feeds: feeds.map(({ name }) => name),
    keys: keys.map(({ name }) => name),
    schedules: (await schedules.list(layer)).map(({ name }) => name),
    tasks: UNFINISHED.reduce((sum, one) => sum + state[one], 0),
    quota: layerQuotas.some((one) => one.layer === layer),
  };
}

/** The schedules of a layer that was removed by this entry. */
export async function restoreSchedules(
  { before }: Pick<AuditEntry, 'before'>,
  { name }: EntryChanged,
  caller: Caller,
  deps: ApiDeps,
): Promise<Pick<z.output<typeof restoredResponse>, 'schedules' | 'lost'>> {
  const documents = isRecord(before) && Array.isArray(before.schedules) ? before.schedules : [];
  const [restored, lost]: [string[], string[]] = [[], []];
  for (const document of documents) {
    const body = scheduleBody.strip().safeParse(withoutNull(document));
    const shaped = body.success ? await withTaskShape(name, { ...body.data, layer: name }, deps) : null;
    const declaration = shaped && declarationOf(shaped);
    const created =
      declaration && (await deps.schedules.create(declaration, caller.name).catch(nullIfRefused));
    (created ? restored : lost).push(String(isRecord(document) ? document.name : document));
  }
  return { schedules: restored, lost };
}

/** Null in a response: the default of the request. */
function withoutNull(document: unknown): unknown {
  if (!isRecord(document)) return document;
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null));
}

function nullIfRefused(error: unknown): null {
  if (isTilewardenError(error)) return null;
  throw error;
}
