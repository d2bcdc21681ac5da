/**
 * Times in the database, the same for all processes and nodes:
 *
 *   times          of a layer: the latest lists of its sources, even if a source fails now
 *   seeded-times   of a layer: up to which time its instants have been seeded
 */
import { createHash } from 'node:crypto';
import type { TimeList } from '../domain/time-filter.ts';
import { readListedTimes } from '../domain/time-values.ts';
import { isRecord } from '../lib/value-path.ts';
import { isSameJson } from '../lib/write-json.ts';
import type { CatalogEntries, EntryTransaction } from './catalog-entries.ts';

/** By the parameter's name in upper case. */
export type TimeLists = ReadonlyMap<string, TimeList & { readonly origin: string }>;
export type SeededTimes = ReadonlyMap<string, number>;

/** The stored form. */
type ListDocument = Readonly<Record<string, { readonly origin: string; readonly values: string }>>;

/** The instants of one parameter; each call returns the current knowledge. */
export interface KnownTimes {
  /** Null: not known. */
  list(): TimeList | null;
  seededUntil(): number | null;
}

const SERVER = 'server';
const CREDENTIALS = /\/\/[^/@"]*@/g;

/** Identifies the origin of a list: a layer with another source or `from` does not show its former times. */
export function originOfTimes(from: unknown, source: unknown): string {
  const { type, url, layers, layer } = isRecord(source) ? source : {};
  return createHash('sha256')
    .update(JSON.stringify([from, type, url, layers, layer]).replace(CREDENTIALS, '//'))
    .digest('hex')
    .slice(0, 16);
}

/** `revision`: differs from that of the former list. Yields to the event loop. */
export async function readTimeLists(document: unknown, revision: number): Promise<TimeLists> {
  const lists: [string, TimeList & { readonly origin: string }][] = [];
  for (const [name, { origin, values }] of Object.entries((document ?? {}) as ListDocument)) {
    lists.push([name, { origin, values: await readListedTimes([values]), revision }]);
  }
  return new Map(lists);
}

export function readSeededTimes(document: unknown): SeededTimes {
  return new Map(Object.entries((document ?? {}) as Record<string, number>));
}

export type TimeStore = ReturnType<typeof createTimeStore>;

/** `applied`: resolves when all processes and nodes have applied the stored lists. */
export function createTimeStore(entries: CatalogEntries, applied: () => Promise<void>) {
  /** Returns whether it has changed. */
  async function change(kind: 'times' | 'seeded-times', layer: string, name: string, value: unknown) {
    const changed = await entries.transaction(async (inside) => {
      const former = (await inside.get(kind, layer))?.document;
      const before = isRecord(former) ? former : {};
      if (isSameJson(before[name], value)) return false;
      await inside.put({ kind, name: layer, document: { ...before, [name]: value }, changedBy: SERVER });
      return true;
    });
    if (changed) await applied();
    return changed;
  }

  return {
    /** `values`: as `TimeValues` writes them, in one text: JSON of many takes long. Durable when it resolves. */
    setList: (layer: string, name: string, origin: string, values: string): Promise<boolean> =>
      change('times', layer, name, { origin, values }),
    setSeeded: (layer: string, name: string, until: number): Promise<boolean> =>
      change('seeded-times', layer, name, until),
  };
}

/** With a layer that is removed. */
export async function forgetTimes(inside: EntryTransaction, layer: string, changedBy: string): Promise<void> {
  for (const kind of ['times', 'seeded-times'] as const) {
    const entry = await inside.get(kind, layer);
    if (entry && entry.document !== null) await inside.put({ kind, name: layer, document: null, changedBy });
  }
}
