import type { Settings } from '../config/settings.ts';
import { hostsNamedIn, refusePrivate } from '../sources/upstream/address-guard.ts';
import { upstreamOptionsFor } from '../sources/upstream/upstream-options-for.ts';

/** Tells an administrator how to allow a host in a private network. */
type PrivateAdvice = (host: string) => string;

/** The hosts that sources may use, by the current settings. */
export class HostRules {
  readonly #advice: PrivateAdvice;
  #upstreams: Settings['upstreams'];
  #configured: ReadonlySet<string>;

  constructor(settings: Settings, advice: PrivateAdvice) {
    this.#advice = advice;
    this.#upstreams = settings.upstreams;
    this.#configured = hostsOf(settings);
  }

  get upstreams(): Settings['upstreams'] {
    return this.#upstreams;
  }

  /** Whether the configuration names the host. */
  has(host: string): boolean {
    return this.#configured.has(host);
  }

  applySettings(next: Settings): void {
    this.#upstreams = next.upstreams;
    this.#configured = hostsOf(next);
  }

  /** Throws for a source in a private network that no administrator of the machine has named. */
  admit(source: unknown): void {
    const isAllowed = (host: string) =>
      this.has(host) || upstreamOptionsFor(this.#upstreams, host).allowPrivate;
    refusePrivate(source, isAllowed, this.#advice);
  }
}

function hostsOf({ layers, changes }: Settings): ReadonlySet<string> {
  return hostsNamedIn([
    ...layers.flatMap(({ source, updateSources }) => [source, updateSources]),
    ...changes,
  ]);
}
