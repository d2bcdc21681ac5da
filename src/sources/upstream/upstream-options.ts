import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { DAILY_HOURS } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import { flag, whole } from '../../lib/schemas.ts';

/** Defaults for hosts without settings, and for absent settings of others. */
export const USUAL = {
  concurrency: 8,
  ratePerSecond: null as number | null,
  adaptive: true,
  dailyBudget: null as number | null,
  quietHours: [] as string[],
  quietFor: 'tasks' as 'tasks' | 'all',
  timeZone: 'UTC',
  allowPrivate: false,
  /** PEM, like the next two. */
  ca: null as string | null,
  certificate: null as string | null,
  key: null as string | null,
};

/** The result of `upstreamOptions`. */
export type UpstreamOptions = Readonly<typeof USUAL>;
export type UpstreamSettings = Readonly<Record<string, UpstreamOptions>>;

/** The settings for a `host:port`: its own, else those of `host`, else the defaults. */
export function upstreamOptionsFor(upstreams: UpstreamSettings, host: string): UpstreamOptions {
  const known = new Map(Object.entries(upstreams));
  const name = host.slice(0, host.lastIndexOf(':'));
  return known.get(host) ?? known.get(name) ?? USUAL;
}

/** `maps.example.org:443`, also if the URL has no port. */
export function hostAndPort(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}

const PEM = /^-----BEGIN [A-Z ]+-----$/m;
const pem = (what: string) =>
  z
    .string()
    .regex(PEM, { error: `must be ${what} in PEM form; name its file: { file: name.pem }`, abort: true })
    .nullable()
    .default(null);

type Certificates = Pick<UpstreamOptions, 'ca' | 'certificate' | 'key'>;

function checkCertificates({ ca, certificate, key }: Certificates, context: z.RefinementCtx): void {
  const refuse = (field: keyof Certificates, message: string) =>
    context.addIssue({ code: 'custom', path: [field], message });
  if (ca !== null && !works(() => new X509Certificate(ca))) refuse('ca', 'cannot be read');
  if (certificate === null && key === null) return;
  if (key === null) refuse('key', 'is needed with certificate');
  else if (certificate === null) refuse('certificate', 'is needed with key');
  else if (!works(() => createSecureContext({ cert: certificate, key })))
    refuse('certificate', 'cannot be read, or does not belong to key');
}

function works(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

const quietWindow = z.string().regex(DAILY_HOURS, { error: 'must be two times of day such as 22:00-06:00' });

/** Limits of one host; the key in the settings is `host:port` or `host`. */
export const upstreamOptions = z
  .strictObject({
    concurrency: whole(1, 256).default(USUAL.concurrency).describe('Concurrent requests'),
    ratePerSecond: z
      .number()
      .positive()
      .max(100_000)
      .nullable()
      .default(USUAL.ratePerSecond)
      .describe('Requests begun in any one second; null: no limit'),
    adaptive: z
      .boolean()
      .default(USUAL.adaptive)
      .describe('Send fewer concurrent requests while the host is slow or overloaded'),
    dailyBudget: whole(1, 1_000_000_000)
      .nullable()
      .default(USUAL.dailyBudget)
      .describe('Requests on any one day; null: no limit'),
    quietHours: z
      .union([quietWindow.transform((window) => [window]), z.array(quietWindow)])
      .default(USUAL.quietHours)
      .describe('When no requests are sent to the host, e.g. 06:00-22:00, or a list of such'),
    quietFor: z
      .enum(['tasks', 'all'])
      .default(USUAL.quietFor)
      .describe('Whether this holds for tasks only, or for clients too'),
    timeZone: z
      .string()
      .refine((name) => works(() => new LocalTime(name)), {
        error: 'must be a time zone such as Europe/Berlin or UTC',
      })
      .default(USUAL.timeZone)
      .describe('Of quietHours and of the days of dailyBudget'),
    allowPrivate: flag.describe(
      'Whether the host may be at a loopback or private address; link-local ones are never asked',
    ),
    ca: pem('certificates').describe(
      'Certificate authorities to trust for this host, instead of the usual ones',
    ),
    certificate: pem('a certificate').describe('Certificate to identify with, and its chain'),
    key: pem('a private key').describe('Private key of certificate'),
  })
  .superRefine(checkCertificates);
