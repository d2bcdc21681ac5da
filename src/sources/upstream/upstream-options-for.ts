/** As `upstreamOptions` reads them. */
export interface UpstreamOptions {
  readonly concurrency: number;
  readonly ratePerSecond: number | null;
  readonly adaptive: boolean;
  readonly dailyBudget: number | null;
  readonly quietHours: string[];
  readonly quietFor: 'tasks' | 'all';
  readonly timeZone: string;
  readonly allowPrivate: boolean;
}

export type UpstreamSettings = Readonly<Record<string, UpstreamOptions>>;

/** Of hosts that the settings do not name, and what they leave out of others. */
export const USUAL: UpstreamOptions = {
  concurrency: 8,
  ratePerSecond: null,
  adaptive: true,
  dailyBudget: null,
  quietHours: [],
  quietFor: 'tasks',
  timeZone: 'UTC',
  allowPrivate: false,
};

/** The settings for a `host:port`: its own, else those of `host`, else the defaults. */
export function upstreamOptionsFor(upstreams: UpstreamSettings, host: string): UpstreamOptions {
  const known = new Map(Object.entries(upstreams));
  const name = host.slice(0, host.lastIndexOf(':'));
  return known.get(host) ?? known.get(name) ?? USUAL;
}

/** `maps.example.org:443`, also where the URL leaves the port out. */
export function hostAndPort(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}
