/** Declares, changes and removes layers and grid sets over HTTP. */
import { z } from 'zod';
import type { AuditEntry } from '../../access/audit-log.ts';
import type { Caller } from '../../access/caller.ts';
import type { EntryChanged } from '../../catalog/catalog-editor.ts';
import type { EntryKind } from '../../catalog/catalog-entries.ts';
import { TILE_CHOICES } from '../../catalog/incarnations.ts';
import type { Fate } from '../../catalog/tile-fates.ts';
import { invalid, isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { tileSetNames } from '../../domain/tile-key.ts';
import { isRecord } from '../../lib/value-path.ts';
import { UNFINISHED } from '../../tasks/task.ts';
import type { ChangeNote, Context } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import { jsonResponse, type Response } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withTaskShape } from './areas.ts';
import { declarationOf, scheduleBody, withRuns } from './schedules.ts';
import { amount, count, queryFlag, texts, tileSetName } from './values.ts';

/** Not checked here: the catalog checks it by the schema of the configuration file. */
export const declarationBody = z
  .custom<{ readonly name?: string | undefined; readonly [field: string]: unknown }>()
  .meta({
    type: 'object',
    properties: { name: { type: 'string' } },
    additionalProperties: {},
    description: 'A layer or grid set as in the configuration file; see tilewarden.schema.json',
  });

export const dryRunQuery = z.strictObject({
  dryRun: queryFlag.default(false).describe('Only report the effect on cached tiles'),
});

export const changeQuery = dryRunQuery.extend({
  tiles: z
    .enum(TILE_CHOICES)
    .exactOptional()
    .describe(
      'What to do with cached tiles that the change may make wrong: keep them, renew each before it is shown (stale), or drop them; when absent: stale if only the source changes, drop if default parameters or the grid change',
    ),
});

export const declarationResponse = z.object({
  name: z.string(),
  version: z.number().nullable().describe('Also in ETag, for If-Match; null: nothing was changed'),
  document: z.unknown().describe('In the form of the configuration file, secrets hidden'),
  tileSets: z.object({ kept: z.number(), stale: z.number(), truncated: z.number(), orphaned: z.number() }),
  tiles: z.object({
    affected: count.describe('Cached tiles that become stale or are dropped'),
    bytes: count,
    default: z.enum(TILE_CHOICES).describe('What happens to them without the parameter tiles'),
  }),
  affected: z.array(
    z.object({
      layer: z.string(),
      ...tileSetName,
      fate: z.enum(['stale', 'truncated', 'orphaned']),
      ...amount,
    }),
  ),
});

/** Further tile sets of a response are only counted. */
const MAX_LISTED_TILE_SETS = 100;

type Declaring = Call<{ query: typeof changeQuery; body: typeof declarationBody }>;

const PATHS = { layer: '/api/v1/layers', 'grid-set': '/api/v1/gridsets' } as const;

/** `POST`: refuses a name that is in use. */
export async function create(call: Declaring, kind: EntryKind, { editor }: ApiDeps): Promise<Response> {
  const options = { by: call.caller.name, dryRun: call.query.dryRun, expected: null };
  try {
    return changeResponse(call, await editor.put(kind, call.body, options));
  } catch (error) {
    if (!isTilewardenError(error, 'entry-changed')) throw error;
    throw new TilewardenError('entry-conflict', 'name is already used; change that one with PUT.');
  }
}

export async function put(
  call: Declaring,
  kind: EntryKind,
  name: string,
  { editor }: ApiDeps,
): Promise<Response> {
  const { dryRun, tiles = null } = call.query;
  const options = { by: call.caller.name, dryRun, tiles, ...expectedBy(call.context) };
  return changeResponse(call, await editor.put(kind, withName(call.body, name), options));
}

/** A dry run only reports the tiles to remove, and the dependents of a layer. */
export async function remove(
  { query, caller, context, note }: Call<{ query: typeof dryRunQuery }>,
  kind: EntryKind,
  name: string,
  deps: ApiDeps,
) {
  const options = { by: caller.name, dryRun: query.dryRun, ...expectedBy(context) };
  if (!query.dryRun) {
    note(await removeNoted(kind, name, options, deps));
    return undefined;
  }
  const change = changeDocument(await deps.editor.remove(kind, name, options));
  return jsonResponse(kind === 'layer' ? { ...change, dependents: await dependentsOf(name, deps) } : change);
}

function changeResponse({ context, note }: Call, change: EntryChanged): Response {
  if (change.version === null) return jsonResponse(changeDocument(change));
  note(changeNote(change));
  const location = `${context.baseUrl}${PATHS[change.kind]}/${encodeURIComponent(change.name)}`;
  const headers = ['ETag', entityTag(change.version), ...(change.created ? ['Location', location] : [])];
  return jsonResponse(changeDocument(change), headers, change.created ? 201 : 200);
}

export function entityTag(version: number): string {
  return `"v${version}"`;
}

/** The expected version: 7 for `If-Match: "v7"`, null (no entry yet) for `If-None-Match: *`, absent for any. */
function expectedBy({ headers }: Pick<Context, 'headers'>): { readonly expected?: number | null } {
  if (headers['if-none-match'] === '*') return { expected: null };
  const tag = headers['if-match'];
  if (tag === undefined || tag === '*') return {};
  const version = /^"v(\d{1,15})"$/.exec(tag)?.[1];
  if (version === undefined)
    throw new HttpProblem('header-invalid', 'If-Match must be an ETag of this resource, such as "v7".');
  return { expected: Number(version) };
}

/** Adds the name if the body has none. Throws if it differs from the name in the address. */
function withName(document: unknown, name: string): unknown {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return document;
  const inBody = 'name' in document ? document.name : name;
  if (inBody === name) return { ...document, name };
  throw invalid(`name must be ${name}, as in the address, or be left out.`);
}

/** For the audit log. Both documents come with their secrets hidden. */
export function changeNote({ kind, name, created, before, document }: EntryChanged): ChangeNote {
  const verb = created ? 'added' : changeVerb(before, document);
  return {
    target: `${kind}:${name}`,
    before: created ? null : { document: before },
    after: { document },
    summary: `${verb} ${WORDS[kind]} ${name}`,
  };
}

const WORDS = { layer: 'layer', 'grid-set': 'grid set' } as const;

function changeVerb(before: unknown, after: unknown): string {
  const enabled = (document: unknown) => !isRecord(document) || document.enabled !== false;
  if (enabled(before) === enabled(after)) return 'changed';
  return enabled(after) ? 'enabled' : 'disabled';
}

export function changeDocument({ name, version, document, tileSets, usual }: EntryChanged): object {
  const doubtful = tileSets.filter(({ fate }) => fate === 'stale' || fate === 'truncated');
  const sum = (field: 'tiles' | 'bytes') => doubtful.reduce((total, one) => total + one[field], 0);
  const setsOf = (fate: Fate) => tileSets.filter((affected) => affected.fate === fate).length;
  const named = tileSets.filter(({ fate }) => fate !== 'kept').slice(0, MAX_LISTED_TILE_SETS);
  return {
    name,
    version,
    document,
    tileSets: {
      kept: setsOf('kept'),
      stale: setsOf('stale'),
      truncated: setsOf('truncated'),
      orphaned: setsOf('orphaned'),
    },
    tiles: { affected: sum('tiles'), bytes: sum('bytes'), default: usual },
    affected: named.map(({ set, ...fate }) => ({ ...tileSetNames(set), ...fate })),
  };
}

export const removalResponse = declarationResponse.extend({
  dependents: z.object({
    feeds: texts.describe('Feeds of data changes that name the layer: they fail without it'),
    keys: texts.describe('Keys for readers that name the layer itself, not by a pattern: they stay'),
    schedules: texts.describe('Schedules: removed, and restored with the layer'),
    tasks: count.describe('Unfinished tasks, which are stopped'),
    quota: z.boolean().describe('Whether the layer has its own quota, which is removed'),
  }),
});

export const restoredResponse = declarationResponse.extend({
  schedules: texts.describe('Schedules that were restored with the layer'),
  lost: texts.describe('Schedules that could not be restored'),
});

type Removal = Parameters<ApiDeps['editor']['remove']>[2];

/** Removes the entry. The note contains its schedules too, for `restoreSchedules`. */
export async function removeNoted(
  kind: EntryKind,
  name: string,
  options: Removal,
  deps: ApiDeps,
): Promise<ChangeNote> {
  const removed = kind === 'layer' ? await deps.schedules.list(name) : [];
  const schedules = await Promise.all(removed.map((schedule) => withRuns(schedule, deps)));
  const { before: document } = await deps.editor.remove(kind, name, options);
  const before = { document, ...(schedules.length > 0 && { schedules }) };
  const summary = `removed ${WORDS[kind]} ${name}`;
  return { target: `${kind}:${name}`, before, after: { removed: true }, summary };
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

/** Creates the schedules that were removed with a layer; `before` is from the audit entry of `removeNoted`. */
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

/** A field that is null in a response is absent in the request. */
function withoutNull(document: unknown): unknown {
  if (!isRecord(document)) return document;
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null));
}

function nullIfRefused(error: unknown): null {
  if (isTilewardenError(error)) return null;
  throw error;
}
