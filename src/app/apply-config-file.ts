import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ChangeableCatalog } from '../catalog/catalog.ts';
import { layersBelow } from '../catalog/incarnations.ts';
import { layersAbove } from '../catalog/tile-fates.ts';
import {
  type LoadedSettings,
  SettingsError,
  type SettingsFile,
  withoutRestart,
} from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { everySubset } from '../domain/layer.ts';
import type { Reloaded } from '../http/api/route-deps.ts';
import type { ScheduleDeclaration } from '../tasks/schedules/schedule.ts';

export interface ConfigFileParts {
  /** Null: the settings did not come from a place that can be read again. */
  readonly file: SettingsFile | null;
  readonly catalog: Pick<
    ChangeableCatalog<unknown>,
    'layers' | 'gridSets' | 'layerNames' | 'declaration' | 'version'
  >;
  /** In this process; returns the names of changed layers. */
  readonly apply: (settings: Settings) => Promise<readonly string[]>;
  /** Resolves when every other process has applied it. */
  readonly announce: () => Promise<void>;
  readonly schedule: (declared: readonly ScheduleDeclaration[]) => Promise<void>;
  /** Throws when the certificate cannot be used. */
  readonly renewCertificate: () => Promise<void>;
}

const LAYERS_PER_TURN = 100;

/** Applies layers, grid sets, upstreams and schedules of a reloaded file. An invalid file changes nothing. */
export function createFileApplier(parts: ConfigFileParts) {
  const { file, apply, announce, schedule, renewCertificate } = parts;

  async function applySettings(
    next: LoadedSettings,
    first: 'here' | 'elsewhere',
  ): Promise<Exclude<Reloaded, { problems: unknown }>> {
    const { loaded, restart } = file ? withoutRestart(file.current, next) : { loaded: next, restart: [] };
    await refuseLostGridSets(parts.catalog, loaded.settings);
    await refuseLostLayers(parts, loaded.settings);
    await renewCertificate();
    const before = file?.current.settings.upstreams ?? {};
    const changed = await apply(loaded.settings);
    file?.taken(loaded);
    if (first === 'here') {
      await announce();
      await schedule(loaded.settings.schedules);
    }
    const upstreams = changedHosts(before, loaded.settings.upstreams);
    return { layers: loaded.settings.layers.length, changed, upstreams, restart };
  }

  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (loaded: () => LoadedSettings, first: 'here' | 'elsewhere' = 'here') => {
    const done = last.catch(() => {}).then(() => applySettings(loaded(), first));
    last = done;
    return done;
  };

  return {
    async applySettings(loaded: LoadedSettings): Promise<readonly string[]> {
      return (await inTurn(() => loaded)).restart;
    },
    /** Another process of the server has applied the file. */
    async reloadedElsewhere(): Promise<void> {
      if (file) await inTurn(() => file.load(), 'elsewhere');
    },
    /** Reads the file again; returns its problems if it is invalid. */
    async reload(): Promise<Reloaded> {
      if (!file) return { problems: ['The settings did not come from a file'] };
      try {
        return await inTurn(() => file.load());
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
async function refuseLostGridSets(catalog: ConfigFileParts['catalog'], next: Settings): Promise<void> {
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
async function refuseLostLayers({ catalog, file }: ConfigFileParts, next: Settings): Promise<void> {
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
