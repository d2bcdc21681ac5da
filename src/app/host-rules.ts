import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DEFAULT_CONFIG_NAME } from '../config/environment.ts';
import type { SettingsFile } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { hostsNamedIn, refusePrivate } from '../sources/upstream/address-guard.ts';
import { upstreamOptionsFor } from '../sources/upstream/upstream-options-for.ts';

/** The hosts that sources may use, by the current settings. `advice`: how to allow a host in a private network. */
export function createHostRules(settings: Settings, advice: (host: string) => string) {
  let { upstreams } = settings;
  let configured = hostsOf(settings);
  const has = (host: string) => configured.has(host);
  return {
    get upstreams(): Settings['upstreams'] {
      return upstreams;
    },
    /** Whether the configuration names the host. */
    has,
    applySettings(next: Settings): void {
      upstreams = next.upstreams;
      configured = hostsOf(next);
    },
    /** Throws for a source in a private network that no administrator of the machine has named. */
    admit: (source: unknown): void =>
      refusePrivate(source, (host) => has(host) || upstreamOptionsFor(upstreams, host).allowPrivate, advice),
  };
}

function hostsOf({ layers, changes, follow }: Settings): ReadonlySet<string> {
  return hostsNamedIn([
    ...layers.flatMap(({ source, updateSources }) => [source, updateSources]),
    ...changes,
    ...follow,
  ]);
}

/** For administrators: how to allow a host in a private network, with the line for the configuration file. */
export function createPrivateAdvice({ data }: Settings, file?: SettingsFile): (host: string) => string {
  return (host) => {
    const path = file?.current.configFile ?? join(dirname(data), DEFAULT_CONFIG_NAME);
    const place = existsSync(path) ? path : `${path} (the file does not exist yet)`;
    const line = `upstreams: { '${host}': { allowPrivate: true } }`;
    return `${host} is a private address. Allow it in ${place}, then reload the configuration file: ${line}`;
  };
}
