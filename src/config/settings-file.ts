import type { LoadedSettings } from './load-settings.ts';

export type SettingsFile = ReturnType<typeof readSettingsFile>;

/** Settings that can be read again while the server runs. */
export function readSettingsFile(load: () => LoadedSettings) {
  let current = load();
  return {
    /** What is in effect. */
    get current() {
      return current;
    },
    /** As they stand there now. Throws `SettingsError`; nothing changes by it. */
    load,
    taken(loaded: LoadedSettings): void {
      current = loaded;
    },
  };
}

/** Settings that take effect while the server runs; others need a restart. */
const LIVE: ReadonlySet<string> = new Set(['layers', 'gridSets']);

/** The names of settings that differ and take effect with a restart only. */
export function needsRestart(before: LoadedSettings, after: LoadedSettings): readonly string[] {
  const [old, fresh] = [before.handover.document, after.handover.document];
  const names = Object.keys(fresh) as (keyof typeof fresh)[];
  return names.filter((name) => !LIVE.has(name) && JSON.stringify(old[name]) !== JSON.stringify(fresh[name]));
}
