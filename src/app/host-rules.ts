import type { Settings } from '../config/settings.ts';
import { hostsNamedIn, refusePrivate } from '../sources/upstream/address-guard.ts';
import { upstreamOptionsFor } from '../sources/upstream/upstream-options-for.ts';

/** What an administrator is to do about a host in a private network. */
type PrivateAdvice = (host: string) => string;

/** Which hosts may be asked for pictures, by the settings as they were last read. */
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

  takeUp(next: Settings): void {
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
