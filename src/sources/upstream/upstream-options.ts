import { z } from 'zod';
import { DAILY_HOURS } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import { flag, whole } from '../../lib/schemas.ts';

const quietWindow = z.string().regex(DAILY_HOURS, { error: 'must be two times of day such as 22:00-06:00' });

function isTimeZone(name: string): boolean {
  try {
    new LocalTime(name);
    return true;
  } catch {
    return false;
  }
}

/** What an administrator allows us to ask of one host; the key in the settings is `host:port` or `host`. */
export const upstreamOptions = z.strictObject({
  concurrency: whole(1, 256).default(8).describe('Requests under way at once'),
  ratePerSecond: z
    .number()
    .positive()
    .max(100_000)
    .nullable()
    .default(null)
    .describe('Requests begun in any one second; null: no limit'),
  adaptive: z
    .boolean()
    .default(true)
    .describe('Whether fewer are sent at once while the host is slow or says that it is too much'),
  dailyBudget: whole(1, 1_000_000_000)
    .nullable()
    .default(null)
    .describe('Requests on any one day; null: no limit'),
  quietHours: z
    .union([quietWindow.transform((window) => [window]), z.array(quietWindow)])
    .default([])
    .describe('When the host is left alone, e.g. 06:00-22:00, or a list of such'),
  quietFor: z
    .enum(['tasks', 'all'])
    .default('tasks')
    .describe('Who leaves it alone then: tasks only, or people too'),
  timeZone: z
    .string()
    .refine(isTimeZone, { error: 'must be a time zone such as Europe/Berlin or UTC' })
    .default('UTC')
    .describe('Of quietHours and of the days of dailyBudget'),
  allowPrivate: flag.describe(
    'Whether the host may be at a loopback or private address; link-local ones are never asked',
  ),
});

export type UpstreamOptions = z.output<typeof upstreamOptions>;

export type UpstreamSettings = Readonly<Record<string, UpstreamOptions>>;

/** The settings for a `host:port`: its own, else those of `host`, else the defaults. */
export function upstreamOptionsFor(upstreams: UpstreamSettings, host: string): UpstreamOptions {
  const known = new Map(Object.entries(upstreams));
  const name = host.slice(0, host.lastIndexOf(':'));
  return known.get(host) ?? known.get(name) ?? upstreamOptions.parse({});
}

/** `maps.example.org:443`, also where the URL leaves the port out. */
export function hostAndPort(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}
