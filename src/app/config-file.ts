import { isDeepStrictEqual } from 'node:util';
import { createCatalogEditor } from '../catalog/catalog-editor.ts';
import { measureFile } from '../catalog/measure-file.ts';
import { refuseLost } from '../config/check-reload.ts';
import { type LoadedSettings, type SettingsFile, withoutRestart } from '../config/load-settings.ts';
import { SettingsError } from '../config/settings-error.ts';
import type { Settings } from '../config/settings-schema.ts';
import { lastId } from '../db/numbers.ts';
import { packPolygons } from '../domain/area-shape.ts';
import { isTilewardenError } from '../domain/errors.ts';
import type { Reloaded } from '../http/api/route-deps.ts';
import { CONFIG_FILE } from './membership.ts';
import type { NodeParts, Work } from './open-work.ts';

interface EditedNode extends NodeParts, Work {
  /** Resolves when every process and node has refreshed its catalog. */
  readonly announce: () => Promise<void>;
}

/** Changes of declarations: over HTTP in all nodes, by the configuration file in this one. */
export async function openEditing(node: EditedNode) {
  const { catalog, registry, tasks, schedules, quota } = node;
  const { gridSetDocuments, ...configFile } = createFileApplier(node);
  const editor = createCatalogEditor({
    ...node,
    reader: await node.reader(),
    gridSetDocuments,
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
  await editor.finish(node.isFirst && (await registry.list()).length <= 1);
  return { editor, configFile };
}

const NO_SHAPE = {
  shape: packPolygons([]),
  points: 0,
  bounds: { minX: 0, minY: 0, maxX: 0, maxY: 0 },
  digest: '',
};

/**
 * Applies areas, groups, layers, grid sets, upstreams, schedules and service metadata of a reloaded file, in turn. An invalid
 * file changes nothing. A file belongs to one node: the others have theirs.
 */
function createFileApplier(node: EditedNode) {
  const { settings, feed, catalog, records, declared, schedules, service, supervisor } = node;
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
    await refuseLost(catalog, file?.current.settings ?? null, after);
    await renewCertificate();
    const before = file?.current.settings.upstreams ?? {};
    const recorded = await records.declareFixed(after.layers, after.gridSets);
    await declared.refresh();
    gridSetDocuments = after.gridSetDocuments;
    await service.setFile(after.service);
    const changed = node.applySettings(after);
    file?.applied(loaded);
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

  /** Files of areas are read on a thread, in a second pass: they would block requests. */
  async function loadAgain({ load }: SettingsFile): Promise<LoadedSettings> {
    const files: (readonly [srs: number, path: string])[] = [];
    const loaded = load((srs, path) => {
      files.push([srs, path]);
      return { srs, ...NO_SHAPE };
    });
    if (files.length === 0) return loaded;
    const shapes = await Promise.allSettled(files.map((file) => node.areaThread.measureFile(...file)));
    return load((srs, path) => {
      const shape = shapes[files.findIndex((file) => `${file}` === `${[srs, path]}`)];
      if (!shape) return measureFile(srs, path);
      if (shape.status === 'rejected') throw shape.reason;
      return shape.value;
    });
  }

  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (
    loaded: () => LoadedSettings | Promise<LoadedSettings>,
    first: 'here' | 'elsewhere' = 'here',
  ) => {
    const done = last.catch(() => {}).then(async () => applySettings(await loaded(), first));
    last = done;
    return done;
  };
  // Another process of the server has applied the file.
  if (file) feed?.on(CONFIG_FILE, async () => void (await inTurn(() => loadAgain(file), 'elsewhere')));

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
        const reloaded = await inTurn(() => loadAgain(file));
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
