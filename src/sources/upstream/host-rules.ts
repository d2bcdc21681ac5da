import { hostsNamedIn, refusePrivate } from './address-guard.ts';
import { type UpstreamSettings, upstreamOptionsFor } from './upstream-options-for.ts';

interface HostSettings {
  readonly upstreams: UpstreamSettings;
  readonly layers: readonly { readonly source: unknown; readonly updateSources: unknown }[];
  readonly changes: readonly object[];
  readonly follow: readonly object[];
}

/** The hosts that sources may use, by the current settings. `advice`: how to allow a host in a private network. */
export function createHostRules(settings: HostSettings, advice: (host: string) => string) {
  let { upstreams } = settings;
  let configured = hostsOf(settings);
  const has = (host: string) => configured.has(host);
  return {
    get upstreams(): HostSettings['upstreams'] {
      return upstreams;
    },
    /** Whether the configuration names the host. */
    has,
    applySettings(next: HostSettings): void {
      upstreams = next.upstreams;
      configured = hostsOf(next);
    },
    /** Throws for a source in a private network that no administrator of the machine has named. */
    admit: (source: unknown): void =>
      refusePrivate(source, (host) => has(host) || upstreamOptionsFor(upstreams, host).allowPrivate, advice),
  };
}

function hostsOf({ layers, changes, follow }: HostSettings): ReadonlySet<string> {
  return hostsNamedIn([
    ...layers.flatMap(({ source, updateSources }) => [source, updateSources]),
    ...changes,
    ...follow,
  ]);
}
