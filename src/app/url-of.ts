import type { Settings } from '../config/settings.ts';

/** Where a server with these settings answers, with a slash at the end. */
export function urlOf({ host, port, tls }: Pick<Settings['server'], 'host' | 'port' | 'tls'>): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
