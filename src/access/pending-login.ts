import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { LoginSecrets } from './oidc-provider.ts';

/** How long after its beginning a sign-in can be completed, in milliseconds. */
export const LOGIN_LASTS_MS = 10 * 60_000;
const CIPHER = 'aes-256-gcm';
const [KEY_BYTES, NONCE_BYTES, TAG_BYTES] = [32, 12, 16];

export interface PendingLogin extends LoginSecrets {
  /** A path of this server. */
  readonly returnTo: string;
}

/**
 * A pending sign-in is stored only in a cookie of its browser, so that anonymous requests leave nothing on the server.
 * It is encrypted with a key that all nodes derive from the client's secret. The issuer ensures single use: its code is
 * valid once.
 */
export function createLoginSeal(clientSecret: string, clock: Pick<Clock, 'now'>) {
  const key = () => Buffer.from(hkdfSync('sha256', clientSecret, '', 'tilewarden pending login', KEY_BYTES));

  function decrypt(sealed: Buffer): string {
    const [nonce, tag] = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(-TAG_BYTES)];
    const decipher = createDecipheriv(CIPHER, key(), nonce, { authTagLength: TAG_BYTES }).setAuthTag(tag);
    const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8');
    return text + decipher.final('utf8');
  }

  return {
    seal(login: PendingLogin): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key(), nonce, { authTagLength: TAG_BYTES });
      const text = JSON.stringify({ ...login, at: clock.now() });
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
    },
    /** Null: not sealed by this server, too old, or of another sign-in. */
    open(sealed: string, state: string): PendingLogin | null {
      try {
        const { at, ...login } = JSON.parse(decrypt(Buffer.from(sealed, 'base64url'))) as PendingLogin & {
          readonly at: number;
        };
        return login.state === state && clock.now() - at <= LOGIN_LASTS_MS ? login : null;
      } catch {
        return null;
      }
    },
  };
}
