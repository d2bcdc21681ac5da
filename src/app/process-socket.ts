import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';

const FILE = 'http.sock';
/** unix(7): a path has at most 107 bytes. */
const LONGEST = 100;

/** Where the primary listens for its processes. Only the server's own user can connect. */
export function processSocketOf({ data }: Pick<Settings, 'data'>): string {
  const path = join(data, FILE);
  if (Buffer.byteLength(path) <= LONGEST) return path;
  const name = createHash('sha256').update(data).digest('hex').slice(0, 24);
  return join(tmpdir(), `tilewarden-${name}.sock`);
}

/** Where a server with these settings answers, with a slash at the end. */
export function urlOf({ host, port, tls }: Pick<Settings['server'], 'host' | 'port' | 'tls'>): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
