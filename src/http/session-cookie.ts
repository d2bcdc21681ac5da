import { SESSION_LIFE_MS } from '../access/session-store.ts';

/** RFC 6265bis, 4.1.3.2: only https can set a cookie of the first name, and only for this very host. */
const SECURE_NAME = '__Host-tilewarden';
const PLAIN_NAME = 'tilewarden';
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function readSessionCookie(header: string | null, secure: boolean): string | null {
  const name = secure ? SECURE_NAME : PLAIN_NAME;
  for (const pair of header?.split(';') ?? []) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name && SECRET.test(value)) return value;
  }
  return null;
}

/** The value of a `Set-Cookie` header. An empty secret takes the cookie away. */
export function sessionCookie(secret: string, secure: boolean): string {
  const lasts = secret === '' ? 0 : SESSION_LIFE_MS / 1000;
  const base = `${secure ? SECURE_NAME : PLAIN_NAME}=${secret}; Path=/; Max-Age=${lasts}; HttpOnly; SameSite=Strict`;
  return secure ? `${base}; Secure` : base;
}
