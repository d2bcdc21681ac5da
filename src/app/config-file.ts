import { isDeepStrictEqual } from 'node:util';
import { createCatalogEditor } from '../catalog/catalog-editor.ts';
import { refuseLost } from '../config/check-reload.ts';
import { type ReadSettings, type SettingsFile, withoutRestart } from '../config/load-settings.ts';
import { SettingsError } from '../config/settings-error.ts';
import type { Settings } from '../config/settings-schema.ts';
import { lastId } from '../db/numbers.ts';
import { isTilewardenError } from '../domain/errors.ts';
import type { Reloaded } from '../http/api/route-deps.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { CONFIG_FILE } from './membership.ts';
import type { NodeParts, Work } from './open-work.ts';

interface EditedNode extends NodeParts, Work {
  /** Resolves when every process and node has refreshed its catalog. */
  readonly announce: () => Promise<void>;
}

/** Changes of declarations: over HTTP for all nodes, by the configuration file for this one. */
export async function openEditing(node: EditedNode) {
  const { catalog, registry, tasks, schedules, quota } = node;
  const editor = createCatalogEditor({
    ...node,
    reader: await node.reader(),
    gridSetDocuments: () => (node.file?.current.settings ?? node.settings).gridSetDocuments,
    changed: node.outdate,
    dependentsOf: async (query) => ({
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
  // Temporary declarations are removed only if no other process or node of the database is running.
  await editor.finish(node.isFirst && (await registry.list()).length <= 1);
  return { editor, configFile: createFileApplier(node) };
}

/**
 * Applies areas, groups, layers, grid sets, upstreams, schedules and service metadata of a reloaded file. An invalid
 * file changes nothing; a failure halfway, such as of the database, keeps the steps before it. Each node has its file.
 */
function createFileApplier(node: EditedNode) {
  const { feed, catalog, records, declared, schedules, service, supervisor, file } = node;
  /** Throws when the certificate cannot be used. */
  let renewCertificate = async (): Promise<unknown> => null;

  const reloads = new Semaphore(1);
  /** Not `reloads`: a reload waits for the other processes, which may be waiting for this one to apply their file. */
  const applications = new Semaphore(1);

  /** In this process only. */
  async function apply(file: SettingsFile, read: ReadSettings) {
    const { used, restart } = withoutRestart(file.current, read);
    const [before, after] = [file.current.settings, used.settings];
    await refuseLost(catalog, before, after);
    await renewCertificate();
    const recorded = await records.declareFixed(after.layers, after.gridSets);
    await declared.refresh();
    await service.setFile(after.service);
    const changed = node.applySettings(after);
    file.current = used;
    return { before, after, recorded, changed, restart };
  }

  async function applyFile(file: SettingsFile): Promise<Exclude<Reloaded, { problems: unknown }>> {
    const read = await node.areaThread.readSettings(file.input);
    const { before, after, recorded, changed, restart } = await applications.during(() => apply(file, read));
    await supervisor?.reloaded(file.current);
    await feed?.ask(CONFIG_FILE);
    // Layers of the database may be clipped to areas of the file.
    const clipped = await records.declareAll();
    await declared.refresh();
    await node.outdate([...new Set([...changed, ...recorded, ...clipped])]);
    await schedules.takeOver(after.schedules);
    const upstreams = changedHosts(before.upstreams, after.upstreams);
    return { layers: after.layers.length, changed, upstreams, restart };
  }

  async function reload() {
    if (!file) throw new SettingsError(['The settings did not come from a file']);
    return reloads.during(() => applyFile(file));
  }

  /** Applies settings that another process has applied since this one began. */
  const catchUp = () =>
    applications.during(async () => {
      const newer = await supervisor?.newerSettings();
      if (file && newer) await apply(file, newer);
    });
  feed?.on(CONFIG_FILE, catchUp);

  return {
    /** `renew` is called before a file is applied. */
    withCertificate(renew: () => Promise<unknown>): void {
      renewCertificate = renew;
    },
    catchUp,
    /** Reads the file again; returns the settings that need a restart. */
    reload: async (): Promise<readonly string[]> => (await reload()).restart,
    /** As `reload`, for the API: returns the result, or the problems of an invalid file. */
    async reloaded(): Promise<Reloaded> {
      try {
        return await reload();
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
