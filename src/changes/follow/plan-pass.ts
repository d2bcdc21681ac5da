/**
 * What a pass does with each layer. Nothing is removed, and nothing happens to a layer that a document merely lacks once.
 *
 * | at the server | record of this follow | declared here | step |
 * | --- | --- | --- | --- |
 * | yes | none | no | declare it, or report it as new |
 * | yes | none | yes | leave it: it belongs to an administrator, to the file or to another follow |
 * | yes | followed, same document | yes | none |
 * | yes | followed, other document | yes | change what the server has changed |
 * | yes | missed, gone | yes | follow it again |
 * | yes | disabled | yes | enable it |
 * | yes | any | no | none: an administrator has removed it |
 * | no | followed | yes | missed |
 * | no | missed | yes | the second time: disable it, or report it as gone |
 * | no | gone | yes | report it again, or disable it |
 * | no | disabled | yes | none |
 * | no | any | no | forget the record |
 *
 * A record whose name the patterns no longer match is forgotten, and the layer stays as it is.
 */
import { isRecord } from '../../lib/value-path.ts';
import { isSameJson } from '../../lib/write-json.ts';
import { collectYielding } from '../../lib/yielding.ts';
import type { Drawing, FollowSettings, PassEntry, ServiceState } from './follow.ts';

const RECORD_STATES = ['followed', 'missed', 'gone', 'disabled'] as const;
export type RecordState = (typeof RECORD_STATES)[number];

export interface FollowRecord {
  /** The name here. */
  readonly layer: string;
  readonly state: RecordState;
  /** Digest of the server's document. */
  readonly digest: string;
  /** Null: not read yet. */
  readonly drawing: Drawing | null;
}

export interface PassStep {
  readonly layer: string;
  readonly action: 'declare' | 'change' | 'enable' | 'disable' | 'record' | 'forget' | 'none';
  /** The next state of the record. */
  readonly state: RecordState;
  readonly digest: string;
  readonly entry: Pick<PassEntry, 'action' | 'detail'> | null;
}

export interface PassRules extends Pick<FollowSettings, 'prefix' | 'new' | 'gone'> {
  /** By the server's names. */
  readonly isWanted: (name: string) => boolean;
  readonly isDeclared: (layer: string) => boolean;
}

type Seen = Pick<ServiceState, 'names' | 'layers'>;

/** Only layers with an action or a report. */
export async function planPass(
  { names, layers }: Seen,
  records: ReadonlyMap<string, FollowRecord>,
  rules: PassRules,
): Promise<readonly PassStep[]> {
  const { prefix } = rules;
  function* steps(): Generator<PassStep | null> {
    for (const [name, digest] of layers) {
      yield presentStep(prefix + name, digest, records.get(prefix + name) ?? null, rules);
    }
    for (const record of records.values()) {
      const name = record.layer.slice(prefix.length);
      const isOurs = record.layer.startsWith(prefix) && rules.isWanted(name);
      if (!isOurs || !names.has(name)) yield absentStep(record, isOurs, rules);
    }
  }
  return (await collectYielding(steps())).filter((step) => step !== null);
}

function presentStep(
  layer: string,
  digest: string,
  record: FollowRecord | null,
  rules: PassRules,
): PassStep | null {
  const step = { layer, digest, state: 'followed' } as const;
  const isDeclared = rules.isDeclared(layer);
  if (!record) {
    if (isDeclared) return { ...step, action: 'none', entry: leftAlone };
    const isReported = rules.new === 'report';
    return isReported
      ? { ...step, action: 'none', entry: { action: 'new', detail: null } }
      : { ...step, action: 'declare', entry: { action: 'declared', detail: null } };
  }
  if (!isDeclared) return null;
  if (record.state === 'disabled')
    return { ...step, action: 'enable', entry: { action: 'enabled', detail: null } };
  if (record.digest !== digest)
    return { ...step, action: 'change', entry: { action: 'changed', detail: null } };
  return record.state === 'followed' ? null : { ...step, action: 'record', entry: null };
}

const leftAlone = { action: 'left', detail: 'a layer of this name was declared by others' } as const;

function absentStep(record: FollowRecord, isOurs: boolean, rules: PassRules): PassStep | null {
  const { layer, state, digest } = record;
  const step = { layer, digest };
  if (!isOurs || !rules.isDeclared(layer)) return { ...step, action: 'forget', state, entry: null };
  if (state === 'followed')
    return { ...step, action: 'record', state: 'missed', entry: { action: 'missed', detail: null } };
  if (state === 'disabled') return null;
  if (rules.gone === 'disable')
    return { ...step, action: 'disable', state: 'disabled', entry: { action: 'disabled', detail: null } };
  const action = state === 'gone' ? 'none' : 'record';
  return { ...step, action, state: 'gone', entry: { action: 'gone', detail: null } };
}

/** Whether a picture that both have is drawn otherwise: a style that is new or gone changes no cached tile. */
export function isDrawnOtherwise(before: Drawing | null, after: Drawing | null): boolean {
  if (!before || !after) return false;
  return Object.entries(before).some(([style, digest]) => (after[style] ?? digest) !== digest);
}

/**
 * A layer's declaration after its server has changed: fields that differ between the former and the next document of the
 * server are changed, except those that an administrator has set to something else.
 */
export function mergeDocument(current: unknown, former: unknown, next: unknown): unknown {
  if (isSameJson(former, next) || isSameJson(current, next)) return current;
  if (isRecord(current) && isRecord(former) && isRecord(next)) {
    const keys = new Set([...Object.keys(current), ...Object.keys(next)]);
    const merged = Array.from(keys, (key) => [key, mergeDocument(current[key], former[key], next[key])]);
    return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
  }
  return isSameJson(current, former) ? next : current;
}

/** The names of fields that differ. */
export function changedFields(before: unknown, after: unknown): readonly string[] {
  if (!isRecord(before) || !isRecord(after)) return [];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !isSameJson(before[key], after[key]));
}
