import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CatalogEditor, FollowedChange } from '../../catalog/catalog-editor.ts';
import type { Database, Statements } from '../../db/database.ts';
import type { Clock } from '../../lib/clock.ts';
import { matchesPattern } from '../../lib/scan-text.ts';
import { isRecord } from '../../lib/value-path.ts';
import {
  CHANGING_ACTIONS,
  type Drawing,
  type FollowSettings,
  type LayerDocument,
  PASS_ACTIONS,
  type PassAction,
  type PassEntry,
  type PassReport,
  type ServiceDocuments,
  type ServiceState,
} from './follow.ts';
import type { FollowStore, PassMark } from './follow-store.ts';
import {
  changedFields,
  type FollowRecord,
  isDrawnOtherwise,
  mergeDocument,
  type PassStep,
  planPass,
} from './plan-pass.ts';

/** An entry of the audit log from which the layer can be restored. */
export interface FollowAudit {
  readonly id: string;
  readonly follow: string;
  readonly layer: string;
  readonly summary: string;
  /** Null: none. */
  readonly before: object | null;
  readonly after: object;
}

export interface PassTools {
  readonly database: Database;
  readonly store: FollowStore;
  readonly editor: Pick<CatalogEditor, 'putFollowed' | 'put'>;
  readonly isDeclared: (layer: string) => boolean;
  readonly isGridSet: (name: string) => boolean;
  /** Throws if the server cannot be read. */
  readonly read: (
    follow: FollowSettings,
    needsDrawings: (sequence: string | null) => boolean,
    signal: AbortSignal,
  ) => Promise<ServiceState>;
  /** All tiles of these layers are outdated when it resolves. */
  readonly markTiles: (follow: FollowSettings, layers: readonly string[]) => Promise<void>;
  readonly audit: (query: Statements, entry: FollowAudit) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Milliseconds after which drawings are read although the server has changed nothing: files may be edited behind its back. */
const READ_AGAIN_MS = 3_600_000;
const MAX_ENTRIES = 1000;
const ROWS_AT_ONCE = 50;

/**
 * One pass: read the server, plan, apply. Each layer's declaration, record and audit entry are one transaction, and a mark
 * comes before the record of what it was raised for: a pass that was interrupted is completed by the next one.
 */
export async function runPass(
  follow: FollowSettings,
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal: AbortSignal },
  tools: PassTools,
): Promise<PassReport> {
  const { store, clock } = tools;
  const before = await store.mark(follow.name);
  const begunAt = clock.now();
  const isDue = begunAt - (before?.wholeAt ?? 0) >= READ_AGAIN_MS;
  const needsDrawings = (sequence: string | null) =>
    isDue || sequence === null || sequence !== before?.sequence;
  const service = await tools.read(follow, needsDrawings, signal);
  if (service.names.size === 0) throw new Error('The server lists no layers; nothing is changed.');
  const records = await store.records(follow.name);
  const isWanted = (name: string) => follow.layers.some((pattern) => matchesPattern(pattern, name));
  const steps = await planPass(service, records, { ...follow, isWanted, isDeclared: tools.isDeclared });
  const marked = markedLayers(follow, service, records, tools);
  const report = new Report(begunAt);
  for (const { layer, reason } of service.left) report.add(follow.prefix + layer, 'left', reason);
  if (dryRun) {
    for (const { layer, entry } of steps) if (entry) report.add(layer, entry.action, entry.detail);
    for (const layer of marked) report.add(layer, 'marked', null);
    return report.done();
  }
  signal.throwIfAborted();
  await applySteps(follow, steps, service, report, tools);
  signal.throwIfAborted();
  if (marked.length > 0) await tools.markTiles(follow, marked);
  for (const layer of marked) report.add(layer, 'marked', null);
  await recordDrawings(follow, service, records, tools);
  const done = report.done();
  await store.passed(follow.name, markAfter(before, begunAt, service, done), report.hasChanges ? done : null);
  return done;
}

function markAfter(
  before: PassMark | null,
  at: number,
  { sequence, drawings }: ServiceState,
  { counts }: PassReport,
): PassMark {
  const pending = counts.new + counts.missed + counts.gone;
  const read = drawings ? { sequence, wholeAt: at } : null;
  return { lastAt: at, sequence: before?.sequence ?? null, wholeAt: before?.wholeAt ?? 0, pending, ...read };
}

/** Layers whose cached pictures are now drawn differently. */
function markedLayers(
  { prefix }: FollowSettings,
  { drawings }: ServiceState,
  records: ReadonlyMap<string, FollowRecord>,
  { isDeclared }: PassTools,
): readonly string[] {
  return [...(drawings ?? [])].flatMap(([name, drawing]) => {
    const record = records.get(prefix + name);
    return record && isDeclared(record.layer) && isDrawnOtherwise(record.drawing, drawing)
      ? [record.layer]
      : [];
  });
}

async function declareGridSets(follow: FollowSettings, { gridSets }: ServiceDocuments, tools: PassTools) {
  for (const gridSet of gridSets) {
    if (tools.isGridSet(gridSet.name)) continue;
    await tools.editor.put('grid-set', gridSet, { by: authorOf(follow), dryRun: false });
  }
}

function authorOf({ name }: FollowSettings): string {
  return `follow:${name}`;
}

async function applySteps(
  follow: FollowSettings,
  steps: readonly PassStep[],
  { drawings, documents }: ServiceState,
  report: Report,
  tools: PassTools,
): Promise<void> {
  const { store, editor, database } = tools;
  const ownName = (layer: string) => layer.slice(follow.prefix.length);
  const isOfRecord = ({ action }: PassStep) => action === 'record' || action === 'forget';
  const isOfLayer = (step: PassStep) => !isOfRecord(step) && step.action !== 'none';
  for (const { layer, entry } of steps.filter((step) => !isOfLayer(step))) {
    if (entry) report.add(layer, entry.action, entry.detail);
  }
  const needsDocument = ({ action }: PassStep) => ['declare', 'change', 'enable'].includes(action);
  const read = await documents(new Set(steps.filter(needsDocument).map(({ layer }) => ownName(layer))));
  await declareGridSets(follow, read, tools);
  const changes = steps.filter(isOfLayer).map((step) => {
    const { layer } = step;
    const theirs = needsDocument(step) ? read.layers.get(ownName(layer)) : undefined;
    const document = theirs ? { ...theirs, name: layer } : null;
    const drawing = drawings?.get(ownName(layer)) ?? null;
    return followedChange(follow, { ...step, document, drawing }, report, tools);
  });
  await editor.putFollowed(changes, authorOf(follow));
  await inTransactions(database, steps.filter(isOfRecord), (inside, { layer, action, state }) =>
    action === 'forget'
      ? store.forget(inside, follow.name, layer)
      : store.set(inside, follow.name, layer, { state }),
  );
}

interface DocumentedStep extends PassStep {
  /** The server's document under the name here; null: the step needs none. */
  readonly document: LayerDocument | null;
  readonly drawing: Drawing | null;
}

/** The declaration, its record and its entry in the audit log. */
function followedChange(
  { name }: FollowSettings,
  step: DocumentedStep,
  report: Report,
  { store, audit }: PassTools,
): FollowedChange {
  const { layer, document, drawing, digest, action } = step;
  const keep = (query: Statements, state = step.state) =>
    document
      ? store.put(query, name, { layer, state, digest, drawing }, document)
      : store.set(query, name, layer, { state });
  return {
    name: layer,
    async next(before, query) {
      // Declared or removed in the meantime.
      if (isRecord(before) === (action === 'declare')) return null;
      if (action === 'declare') return document;
      const next = nextDocument(step, before, await store.document(query, name, layer));
      if (changedFields(before, next).length > 0) return next;
      // Disabled by an administrator: the layer is not enabled when it comes back.
      await keep(query, action === 'disable' ? 'gone' : step.state);
      return null;
    },
    async also(query, { before, document: shown }) {
      await keep(query);
      const verb = step.entry?.action ?? 'changed';
      const summary = `${verb} layer ${layer}`;
      const former = before === null ? null : { document: before };
      const entry = { id: randomUUID(), follow: name, layer, summary };
      await audit(query, { ...entry, before: former, after: { document: shown } });
      report.add(layer, verb, former && changedFields(before, shown).join(', '));
    },
    refused: (message) => report.add(layer, 'left', message),
  };
}

function nextDocument(
  { action, document }: DocumentedStep,
  before: unknown,
  former: LayerDocument | null,
): unknown {
  if (action === 'disable') return isRecord(before) ? { ...before, enabled: false } : before;
  const merged = mergeDocument(before, former, document);
  if (action !== 'enable' || !isRecord(merged)) return merged;
  const { enabled: _, ...enabled } = merged;
  return enabled;
}

/** After the marks: an interrupted pass raises them again. */
async function recordDrawings(
  { name, prefix }: FollowSettings,
  { drawings }: ServiceState,
  records: ReadonlyMap<string, FollowRecord>,
  { store, database }: PassTools,
): Promise<void> {
  const changed = [...(drawings ?? [])].flatMap(([own, drawing]) => {
    const record = records.get(prefix + own);
    const isNew = record && drawing && JSON.stringify(record.drawing) !== JSON.stringify(drawing);
    return isNew ? [{ layer: record.layer, drawing }] : [];
  });
  await inTransactions(database, changed, (inside, { layer, drawing }) =>
    store.set(inside, name, layer, { drawing }),
  );
}

async function inTransactions<Item>(
  database: Database,
  items: readonly Item[],
  work: (inside: Statements, item: Item) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += ROWS_AT_ONCE) {
    await database.transaction('follow', async (inside) => {
      for (const item of items.slice(at, at + ROWS_AT_ONCE)) await work(inside, item);
    });
    await nextTurn();
  }
}

class Report {
  readonly #at: number;
  readonly #entries: PassEntry[] = [];
  readonly #counts = Object.fromEntries(PASS_ACTIONS.map((action) => [action, 0])) as Record<
    PassAction,
    number
  >;

  constructor(at: number) {
    this.#at = at;
  }

  add(layer: string, action: PassAction, detail: string | null): void {
    this.#counts[action] += 1;
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push({ layer, action, detail });
  }

  get hasChanges(): boolean {
    return CHANGING_ACTIONS.some((action) => this.#counts[action] > 0);
  }

  done(): PassReport {
    return { at: this.#at, counts: this.#counts, entries: this.#entries };
  }
}
