/** Of hosts that the settings do not name, and what they leave out of others. */
export const USUAL = {
  concurrency: 8,
  ratePerSecond: null as number | null,
  adaptive: true,
  dailyBudget: null as number | null,
  quietHours: [] as string[],
  quietFor: 'tasks' as 'tasks' | 'all',
  timeZone: 'UTC',
  allowPrivate: false,
  /** PEM, as the two below. */
  ca: null as string | null,
  certificate: null as string | null,
  key: null as string | null,
};

/** As `upstreamOptions` reads them. */
export type UpstreamOptions = Readonly<typeof USUAL>;
export type UpstreamSettings = Readonly<Record<string, UpstreamOptions>>;

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
