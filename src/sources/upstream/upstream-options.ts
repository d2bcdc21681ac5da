import { z } from 'zod';

/** What an administrator allows us to ask of one host; the key in the settings is `host:port` or `host`. */
export const upstreamOptions = z.strictObject({
  concurrency: z.int().min(1).max(256).default(8).describe('Requests under way at once'),
  ratePerSecond: z
    .number()
    .positive()
    .max(100_000)
    .nullable()
    .default(null)
    .describe('Requests begun in any one second; null: no limit'),
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Whether the host may be at a loopback or private address; link-local ones are never asked'),
});

export type UpstreamOptions = z.output<typeof upstreamOptions>;

export type UpstreamSettings = Readonly<Record<string, UpstreamOptions>>;

/** The settings for an address: those of `host:port`, else of `host`, else the defaults. */
export function upstreamOptionsFor(upstreams: UpstreamSettings, url: URL): UpstreamOptions {
  const known = new Map(Object.entries(upstreams));
  return known.get(hostAndPort(url)) ?? known.get(url.hostname) ?? upstreamOptions.parse({});
}

/** `maps.example.org:443`, also where the URL leaves the port out. */
export function hostAndPort(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}
