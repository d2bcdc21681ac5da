import { createLayer, gridSetNames } from '../catalog/create-layer.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSetRegistry } from '../domain/grid-set.ts';
import { declarationOf } from '../http/api/schedules.ts';
import type { Explanation } from '../lib/explain-issue.ts';
import { isRecord, type ValuePath } from '../lib/value-path.ts';
import { type SourceSettings, sourceDriverOf, sourceTypes } from '../sources/drivers.ts';
import { withShapes } from './area-shapes.ts';
import {
  adoptionProblems,
  areaProblems,
  type LayersByName,
  scheduleProblems,
  sourceProblems,
  unknownName,
} from './check-sources.ts';
import { attempt, resolveSettings, toDeclaration } from './resolve-settings.ts';
import { type Settings, type SettingsDocument, settingsSchema } from './settings-schema.ts';

type GivenLayer = SettingsDocument['layers'][number];

/** The settings, with problems that no schema finds, e.g. unknown names. A server starts in spite of `warnings`. */
export function checkSettings(document: SettingsDocument) {
  const { settings: resolved, problems: ofSections } = resolveSettings(document);
  const { areas, layers } = resolved;
  const problems = [...ofSections];
  const byName = new Map(layers.map((layer) => [layer.name, layer]));
  const context = { ...resolved, byName };
  const repeatedName = uniqueNames('layers', 'layer');
  for (const [index, layer] of document.layers.entries()) {
    const declaration = layers[index] ?? toDeclaration(layer, areas);
    problems.push(
      ...repeatedName(layer, index),
      ...layerProblems(layer, declaration, context, ['layers', index]),
    );
  }
  const names = new Set(byName.keys());
  problems.push(
    ...groupProblems(document, names),
    ...document.changes.flatMap(uniqueNames('changes', 'feed')),
  );
  if (!document.access.enabled && document.server.trustedProxies.length > 0) {
    problems.push({
      path: ['server', 'trustedProxies'],
      message:
        'cannot be used without accounts (--no-auth, access.enabled: false): every client of the proxy would be an administrator. Use accounts, or remove trustedProxies and the proxy',
    });
  }
  if (document.access.proxyLogin && document.server.trustedProxies.length === 0) {
    problems.push({
      path: ['access', 'proxyLogin'],
      message: 'needs server.trustedProxies: headers of other callers are not trusted',
    });
  }
  const schedules = document.layers.flatMap(({ name, schedules }) =>
    schedules.map((schedule) => declarationOf({ layer: name, ...schedule })),
  );
  return { settings: { ...resolved, schedules }, problems, warnings: feedWarnings(document, names) };
}

function feedWarnings({ changes }: SettingsDocument, declared: ReadonlySet<string>): readonly Explanation[] {
  return changes.flatMap((feed, index) =>
    [...feed.layers.entries()]
      .filter(([, name]) => !declared.has(name))
      .map(([at, name]) => ({
        path: ['changes', index, 'layers', at],
        message: `names the layer ${name}, which is not in this file; the feed ${feed.name} fails unless that layer is declared over HTTP`,
      })),
  );
}

/** Returns a check that is called with each entry of a section, in order. */
function uniqueNames(section: string, what: string) {
  const seen = new Set<string>();
  return ({ name }: { readonly name: string }, index: number): readonly Explanation[] => {
    const isRepeated = seen.has(name);
    seen.add(name);
    const message = `is not unique: another ${what} is named ${name}`;
    return isRepeated ? [{ path: [section, index, 'name'], message }] : [];
  };
}

export interface LayerContext
  extends Pick<Settings, 'areas' | 'groups' | 'gridSets' | 'stores' | 'adoptBuckets'> {
  readonly byName: LayersByName;
}

/** A layer's document in the catalog's form, with the problems that its schema does not find. */
export function resolveLayer(document: GivenLayer, context: LayerContext) {
  const declaration = toDeclaration(document, context.areas);
  return { declaration, problems: layerProblems(document, declaration, context, []) };
}

function layerProblems(
  document: GivenLayer,
  layer: LayerDeclaration<SourceSettings>,
  { areas, groups, gridSets, stores, adoptBuckets, byName }: LayerContext,
  path: ValuePath,
): readonly Explanation[] {
  const problems: Explanation[] = [];
  if (!Object.hasOwn(stores, layer.store)) {
    const message = unknownName('store', layer.store, Object.keys(stores));
    problems.push({ path: [...path, 'store'], message });
  }
  if (groups.has(layer.name)) problems.push({ path: [...path, 'name'], message: 'is the name of a group' });
  problems.push(...queryProblems(document, path), ...retinaProblems(document, path));
  const gridSetsKnown = checkGridSetNames(layer, path, gridSets, problems);
  if (gridSetsKnown) attempt(path, problems, () => void createLayer(layer, gridSets));
  problems.push(
    ...areaProblems(document, areas, gridSets, path),
    ...sourceProblems(layer, byName, gridSets, path),
    ...adoptionProblems(layer, gridSets, stores[layer.store], adoptBuckets, path),
    ...scheduleProblems(document, path),
  );
  return problems;
}

function queryProblems(layer: GivenLayer, path: ValuePath): readonly Explanation[] {
  if (!layer.queryable || sourceDriverOf(layer.source).queryable) return [];
  const types = sourceTypes(({ queryable }) => queryable);
  const message = `needs a source of type ${types}; one of type ${layer.source.type} answers no GetFeatureInfo`;
  return [{ path: [...path, 'queryable'], message }];
}

function retinaProblems(layer: GivenLayer, path: ValuePath): readonly Explanation[] {
  if (!layer.retina || sourceDriverOf(layer.source).pictures === 'drawn') return [];
  const types = sourceTypes(({ pictures }) => pictures === 'drawn');
  const message = `needs a source that draws (${types}); one of type ${layer.source.type} has its tiles ready-made`;
  return [{ path: [...path, 'retina'], message }];
}

function checkGridSetNames(
  layer: LayerDeclaration,
  path: ValuePath,
  gridSets: GridSetRegistry,
  problems: Explanation[],
): boolean {
  const unknown = [...gridSetNames(layer).entries()].filter(([, name]) => !gridSets.find(name));
  if (unknown.length === 0) return true;
  const known = gridSets.gridSets.flatMap(({ name, aliases }) => [name, ...aliases]);
  for (const [index, name] of unknown) {
    problems.push({ path: [...path, 'gridSets', index], message: unknownName('grid set', name, known) });
  }
  return false;
}

/** Names of groups that are not unique, and children that are unknown or do not make a tree. */
function groupProblems({ groups }: SettingsDocument, layers: ReadonlySet<string>): readonly Explanation[] {
  const problems: Explanation[] = [];
  const names = groups.map(({ name }) => name);
  const parents = new Map<string, string>();
  const repeatedName = uniqueNames('groups', 'group');
  for (const [index, group] of groups.entries()) {
    const { name, layers: children } = group;
    problems.push(...repeatedName(group, index));
    for (const [at, child] of children.entries()) {
      const refuse = (message: string) => problems.push({ path: ['groups', index, 'layers', at], message });
      const isGroup = names.includes(child);
      const parent = parents.get(child);
      if (!isGroup && !layers.has(child)) refuse(unknownName('layer or group', child, [...layers, ...names]));
      if (parent !== undefined) refuse(`names the group ${child}, which is in ${parent} already`);
      if (isGroup) parents.set(child, name);
      if (isBelow(name, child, parents)) refuse(`names the group ${child}, which would be in itself`);
    }
  }
  return problems;
}

/** Each group has one parent, so a way up has at most as many steps as groups. */
function isBelow(name: string, upper: string, parents: ReadonlyMap<string, string>): boolean {
  let at: string | undefined = name;
  for (let steps = 0; at !== undefined && steps <= parents.size; steps++) {
    if (at === upper) return true;
    at = parents.get(at);
  }
  return false;
}

/** Sections whose names other sections refer to: a faulty entry is replaced by a valid one of the same name. */
const NAMED = ['layers', 'gridSets', 'stores'];
/** Keys of a layer with problems of names, which are independent of other problems of the layer. */
const NAMES = ['name', 'gridSets', 'store'];

/**
 * Problems found by `checkSettings` in a document with faults of the schema, so that one check reports everything.
 * `faults`: their places; `folder`: that of the configuration file. Entries with faults, and layers beside them, only report problems with names: others may
 * come from the replacement.
 */
export function furtherProblems(
  tree: unknown,
  faults: readonly ValuePath[],
  folder: string,
): readonly Explanation[] {
  if (!isRecord(tree)) return [];
  const result = settingsSchema.safeParse(withoutFaults(tree, faults));
  if (!result.success) return [];
  const namesOnly = faults.some(([section]) => NAMED.includes(String(section)));
  const { areas, problems: ofAreas } = withShapes(result.data.areas, folder);
  const problems =
    ofAreas.length > 0 ? ofAreas : checkSettings({ ...result.data, areas: [...areas] }).problems;
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
    gridSets: (entry, at) => ({ ...GRID_SET, name: entryName(entry, at) }),
  };
  const remaining = Object.entries(tree).flatMap(([section, value]): (readonly [string, unknown])[] => {
    if (!isFaulty(section)) return [[section, value]];
    if (section === 'stores' && isRecord(value)) return [[section, storeStandIns(value)]];
    const standIn = standIns[section];
    if (!standIn || !Array.isArray(value)) return [];
    return [[section, value.map((entry, at) => (isFaulty(section, at) ? standIn(entry, at) : entry))]];
  });
  return Object.fromEntries(remaining);
}

/** With its names, as far as they can be read. */
function layerStandIn(entry: unknown, at: number, isFaulty: (key: string) => boolean): object {
  const { gridSets, store } = isRecord(entry) ? entry : {};
  return {
    name: entryName(entry, at),
    source: { type: 'world' },
    ...(gridSets !== undefined && !isFaulty('gridSets') && { gridSets }),
    ...(store !== undefined && !isFaulty('store') && { store }),
  };
}

const GRID_SET = { srs: 4326, extent: [-180, -90, 180, 90], levels: 1 };

function storeStandIns(stores: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.keys(stores).map((name) => [name, { type: 'bundle' }]));
}

function entryName(entry: unknown, at: number): string {
  return isRecord(entry) && typeof entry.name === 'string' ? entry.name : `unnamed ${at}`;
}
