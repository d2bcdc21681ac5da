import { createLayer, gridSetNames } from '../catalog/create-layer.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSetRegistry } from '../domain/grid-set.ts';
import { declarationOf } from '../http/api/schedule-document.ts';
import type { Explanation } from '../lib/explain-issue.ts';
import type { ValuePath } from '../lib/value-path.ts';
import { type SourceSettings, sourceDriverOf, sourceTypes } from '../sources/drivers.ts';
import { groupProblems } from './check-groups.ts';
import {
  adoptionProblems,
  areaProblems,
  type LayersByName,
  scheduleProblems,
  sourceProblems,
  unknownName,
} from './check-sources.ts';
import { attempt, resolveSettings, toDeclaration } from './resolve-settings.ts';
import type { Settings } from './settings.ts';
import type { SettingsDocument } from './settings-schema.ts';

type GivenLayer = SettingsDocument['layers'][number];

/** The settings, with the problems that no schema finds: unknown or duplicate names. A server starts with `warnings`. */
export function checkSettings(document: SettingsDocument) {
  const { settings: resolved, problems: ofGridSets } = resolveSettings(document);
  const problems = [...ofGridSets];
  const { areas, groups, gridSets, layers } = resolved;
  const byName = new Map(layers.map((layer) => [layer.name, layer]));
  const context = { areas, groups, gridSets, stores: document.stores, byName };
  const names = new Set<string>();
  for (const [index, given] of document.layers.entries()) {
    const path = ['layers', index];
    if (names.has(given.name)) {
      problems.push({
        path: [...path, 'name'],
        message: `is not unique: another layer is named ${given.name}`,
      });
    }
    names.add(given.name);
    problems.push(...layerProblems(given, layers[index] ?? toDeclaration(given, areas), context, path));
  }
  problems.push(...groupProblems(document, names), ...repeatedFeeds(document));
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

function repeatedFeeds({ changes }: SettingsDocument): readonly Explanation[] {
  return changes.flatMap(({ name }, index) => {
    if (changes.findIndex((feed) => feed.name === name) === index) return [];
    const message = `is not unique: another feed is named ${name}`;
    return [{ path: ['changes', index, 'name'], message }];
  });
}

export interface LayerContext {
  readonly areas: Settings['areas'];
  readonly groups: Settings['groups'];
  readonly gridSets: GridSetRegistry;
  readonly stores: Settings['stores'];
  readonly byName: LayersByName;
}

/** A layer's document in the catalog's form, with the problems that its schema does not find. */
export function resolveLayer(given: GivenLayer, context: LayerContext) {
  const declaration = toDeclaration(given, context.areas);
  return { declaration, problems: layerProblems(given, declaration, context, []) };
}

function layerProblems(
  given: GivenLayer,
  layer: LayerDeclaration<SourceSettings>,
  { areas, groups, gridSets, stores, byName }: LayerContext,
  path: ValuePath,
): readonly Explanation[] {
  const problems: Explanation[] = [];
  if (!Object.hasOwn(stores, layer.store)) {
    const message = unknownName('store', layer.store, Object.keys(stores));
    problems.push({ path: [...path, 'store'], message });
  }
  if (groups.has(layer.name)) problems.push({ path: [...path, 'name'], message: 'is the name of a group' });
  problems.push(...queryProblems(given, path), ...retinaProblems(given, path));
  const gridSetsKnown = checkGridSetNames(layer, path, gridSets, problems);
  if (gridSetsKnown) attempt(path, problems, () => void createLayer(layer, gridSets));
  problems.push(
    ...areaProblems(given, areas, gridSets, path),
    ...sourceProblems(layer, byName, gridSets, path),
    ...adoptionProblems(layer, gridSets, stores[layer.store], path),
    ...scheduleProblems(given, path),
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
