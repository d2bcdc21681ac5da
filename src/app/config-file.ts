import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createCatalogEditor } from '../catalog/catalog-editor.ts';
import { layersBelow } from '../catalog/incarnations.ts';
import { layersAbove } from '../catalog/tile-fates.ts';
import { type LoadedSettings, SettingsError, withoutRestart } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { lastId } from '../db/numbers.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { everySubset } from '../domain/layer.ts';
import type { Reloaded } from '../http/api/route-deps.ts';
import { CONFIG_FILE } from './membership.ts';
import type { NodeParts, Work } from './open-work.ts';

interface EditedNode extends NodeParts, Work {
  /** Resolves when every process and node has refreshed its catalog. */
  readonly announce: () => Promise<void>;
}

const LAYERS_PER_TURN = 100;

/** Changes of declarations: over HTTP in all nodes, by the configuration file in this one. */
export async function openEditing(node: EditedNode) {
  const { catalog, registry, tasks, schedules, quota } = node;
  const { gridSetDocuments, ...configFile } = createFileApplier(node);
  const editor = createCatalogEditor({
    ...node,
    reader: await node.reader(),
    gridSetDocuments,
    changed: node.outdate,
    belongings: async (query) => ({
      task: await lastId(query, 'tasks'),
      schedule: await lastId(query, 'schedules'),
    }),
    async clear(layer, { task, schedule }, by) {
      await tasks.cancel({ layers: [layer], upTo: task }, by);
      const left = (await schedules.list(layer)).filter(({ id }) => id <= schedule);
      for (const { id } of left) await schedules.remove(id);
      if (catalog.layer(layer)) return;
      const { layerQuotas } = await quota.settings.read();
      const others = layerQuotas.filter((quota) => quota.layer !== layer);
      if (others.length < layerQuotas.length) await quota.settings.change({ layerQuotas: others });
    },
  });
  await editor.finish(node.isFirst && (await registry.list()).length <= 1);
  return { editor, configFile };
}

/**
 * Applies areas, groups, layers, grid sets, upstreams and schedules of a reloaded file, in turn. An invalid file changes nothing. A file
 * belongs to one node: the others have theirs.
 */
function createFileApplier(node: EditedNode) {
  const { settings, feed, records, declared, schedules, supervisor } = node;
  /** Null: the settings did not come from a place that can be read again. */
  const file = node.file ?? null;
  let { gridSetDocuments } = settings;
  /** Throws when the certificate cannot be used. */
  let renewCertificate = async (): Promise<unknown> => null;

  async function applySettings(
    next: LoadedSettings,
    first: 'here' | 'elsewhere',
  ): Promise<Exclude<Reloaded, { problems: unknown }>> {
    const { loaded, restart } = file ? withoutRestart(file.current, next) : { loaded: next, restart: [] };
    const { settings: after } = loaded;
    await refuseLostGridSets(node, after);
    await refuseLostLayers(node, after);
    await renewCertificate();
    const before = file?.current.settings.upstreams ?? {};
    const recorded = await records.declareFixed(after.layers, after.gridSets);
    await declared.refresh();
    gridSetDocuments = after.gridSetDocuments;
    const changed = node.applySettings(after);
    file?.taken(loaded);
    if (first === 'here') {
      await feed?.ask(CONFIG_FILE);
      // Layers of the database may be clipped to areas of the file.
      const clipped = await records.declareAll();
      await declared.refresh();
      await node.outdate([...new Set([...changed, ...recorded, ...clipped])]);
      await schedules.takeOver(after.schedules);
    }
    const upstreams = changedHosts(before, after.upstreams);
    return { layers: after.layers.length, changed, upstreams, restart };
  }

  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (loaded: () => LoadedSettings, first: 'here' | 'elsewhere' = 'here') => {
    const done = last.catch(() => {}).then(() => applySettings(loaded(), first));
    last = done;
    return done;
  };
  // Another process of the server has applied the file.
  if (file) feed?.on(CONFIG_FILE, async () => void (await inTurn(() => file.load(), 'elsewhere')));

  return {
    /** File form of the grid sets that the file declares now. */
    gridSetDocuments: () => gridSetDocuments,
    /** `renew` is called before a file is applied. */
    withCertificate(renew: () => Promise<unknown>): void {
      renewCertificate = renew;
    },
    async applySettings(loaded: LoadedSettings): Promise<readonly string[]> {
      return (await inTurn(() => loaded)).restart;
    },
    /** Reads the file again; returns its problems if it is invalid. */
    async reload(): Promise<Reloaded> {
      if (!file) return { problems: ['The settings did not come from a file'] };
      try {
        const reloaded = await inTurn(() => file.load());
        supervisor?.reloaded();
        return reloaded;
      } catch (error) {
        if (error instanceof SettingsError) return { problems: error.problems };
        if (isTilewardenError(error, 'config-invalid')) return { problems: [error.message] };
        throw error;
      }
    },
  };
}

function changedHosts(before: Settings['upstreams'], now: Settings['upstreams']): readonly string[] {
  const hosts = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...hosts].filter((host) => !isDeepStrictEqual(before[host], now[host]));
}

/** A layer that was declared over HTTP may use a grid set of the file. */
async function refuseLostGridSets({ catalog }: EditedNode, next: Settings): Promise<void> {
  const names = new Set(next.gridSets.gridSets.map(({ name }) => name));
  const gone = new Set(catalog.gridSets.gridSets.map(({ name }) => name).filter((name) => !names.has(name)));
  if (gone.size === 0) return;
  const inFile = new Set(next.layers.map(({ name }) => name));
  let seen = 0;
  for (const layer of catalog.layers()) {
    if (++seen % LAYERS_PER_TURN === 0) await nextTurn();
    const lost = everySubset(layer).find(({ gridSet }) => gone.has(gridSet.name));
    if (!lost || inFile.has(layer.name) || next.gridSets.find(lost.gridSet.name)) continue;
    throw new SettingsError([
      `The grid set ${lost.gridSet.name} is no longer in the file, and layer ${layer.name}, which was declared over HTTP, uses it`,
    ]);
  }
}

/** A layer that was declared over HTTP may be drawn from a layer of the file. */
async function refuseLostLayers({ catalog, file }: EditedNode, next: Settings): Promise<void> {
  const before = new Set(file?.current.settings.layers.map(({ name }) => name));
  const after = new Set(next.layers.map(({ name }) => name));
  const gone = [...before].filter((name) => !after.has(name));
  if (gone.length === 0) return;
  const lost = (await layersAbove(catalog, gone)).find((name) => !before.has(name) && !after.has(name));
  if (lost === undefined) return;
  const names = layersBelow(catalog.declaration(lost)?.source).map(({ layer }) => layer);
  const below = names.find((name) => gone.includes(name)) ?? gone[0];
  throw new SettingsError([
    `The layer ${below} is no longer in the file, and layer ${lost}, which was declared over HTTP, is drawn from it`,
  ]);
}
