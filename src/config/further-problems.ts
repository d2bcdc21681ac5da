import type { Explanation } from '../lib/explain-issue.ts';
import { isRecord, type ValuePath } from '../lib/value-path.ts';
import { checkSettings } from './check-settings.ts';
import { settingsSchema } from './settings-schema.ts';

/** Sections in which others look up names: entries with faults are replaced there, so that the names stay. */
const NAMED = ['layers', 'gridSets', 'stores'];
/** Keys of a layer whose problems are about names, and hold whatever else is wrong with the layer. */
const NAMES = ['name', 'gridSets', 'store'];

/**
 * What `checkSettings` finds in a document that its schema refuses, so that one check reports everything. `faults`: the
 * places of what the schema has found. Of entries with faults, and of layers beside them, only problems with names count:
 * others may come from the replacement.
 */
export function furtherProblems(tree: unknown, faults: readonly ValuePath[]): readonly Explanation[] {
  if (!isRecord(tree)) return [];
  const result = settingsSchema.safeParse(withoutFaults(tree, faults));
  if (!result.success) return [];
  const namesOnly = faults.some(([section]) => NAMED.includes(String(section)));
  const { problems } = checkSettings(result.data);
  return problems.filter(({ path }) => !isNear(faults, path) && (!namesOnly || isAboutNames(path)));
}

function isAboutNames([section, , key, inner]: ValuePath): boolean {
  if (section !== 'layers') return section === 'gridSets';
  return NAMES.includes(String(key)) || (key === 'source' && inner === 'layer');
}

/** Whether a fault is at the path, or above or below it. */
function isNear(faults: readonly ValuePath[], path: ValuePath): boolean {
  return faults.some((fault) => isWithin(fault, path) || isWithin(path, fault));
}

function isWithin(path: ValuePath, outer: ValuePath): boolean {
  return outer.every((step, at) => step === path[at]);
}

function withoutFaults(tree: Readonly<Record<string, unknown>>, faults: readonly ValuePath[]): object {
  const isFaulty = (...path: ValuePath) => faults.some((fault) => isWithin(fault, path));
  const standIns: Readonly<Record<string, (entry: unknown, at: number) => object>> = {
    layers: (entry, at) => layerStandIn(entry, at, (key) => isFaulty('layers', at, key)),
    gridSets: (entry, at) => ({ ...GRID_SET, name: nameOf(entry, at) }),
  };
  const kept = Object.entries(tree).flatMap(([section, value]): (readonly [string, unknown])[] => {
    if (!isFaulty(section)) return [[section, value]];
    if (section === 'stores' && isRecord(value)) return [[section, storeStandIns(value)]];
    const standIn = standIns[section];
    if (!standIn || !Array.isArray(value)) return [];
    return [[section, value.map((entry, at) => (isFaulty(section, at) ? standIn(entry, at) : entry))]];
  });
  return Object.fromEntries(kept);
}

/** With its names, as far as they can be read. */
function layerStandIn(given: unknown, at: number, isFaulty: (key: string) => boolean): object {
  const { gridSets, store } = isRecord(given) ? given : {};
  return {
    name: nameOf(given, at),
    source: { type: 'world' },
    ...(gridSets !== undefined && !isFaulty('gridSets') && { gridSets }),
    ...(store !== undefined && !isFaulty('store') && { store }),
  };
}

const GRID_SET = { srs: 4326, extent: [-180, -90, 180, 90], levels: 1 };

function storeStandIns(stores: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.keys(stores).map((name) => [name, { type: 'bundle' }]));
}

function nameOf(given: unknown, at: number): string {
  return isRecord(given) && typeof given.name === 'string' ? given.name : `unnamed ${at}`;
}
