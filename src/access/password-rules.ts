import { invalid } from '../domain/errors.ts';
import { isTokenShaped } from './api-token.ts';

export const MIN_PASSWORD_LENGTH = 12;
const MAX_PASSWORD_LENGTH = 256;

/** Passwords that servers of this kind have been shipped with, or that come to everybody's mind first. */
const KNOWN_TO_ALL = new Set([
  'secured',
  'geoserver',
  'geowebcache',
  'tilewarden',
  'admin',
  'administrator',
  'password',
  'passw0rd',
  'changeme',
  'letmein',
  'qwertz',
  'qwerty',
]);

/** Why a password is not to be used; null when nothing speaks against it. */
export function weaknessOf(password: string, userName: string): string | null {
  const { length } = [...password];
  if (length < MIN_PASSWORD_LENGTH) return `A password needs at least ${MIN_PASSWORD_LENGTH} characters.`;
  if (length > MAX_PASSWORD_LENGTH) return `A password may have at most ${MAX_PASSWORD_LENGTH} characters.`;
  if (isKnownToAll(password, userName)) return 'This password is among the first that anybody would try.';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 7617, 2: no control characters in a password
  if (/[\u0000-\u001f\u007f]/.test(password)) return 'A password must not hold control characters.';
  if (isTokenShaped(password)) return 'This looks like an API token; choose something else as a password.';
  return null;
}

/** What lies side by side on keyboards and in alphabets. */
const ROWS = ['0123456789012345678901234567890', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/** Also with digits and marks hung on: `geoserver2024!` is as well known as `geoserver`. */
export function isKnownToAll(password: string, userName: string): boolean {
  const plain = password.toLowerCase();
  const bare = plain.replace(/^[^a-z]+|[^a-z]+$/g, '');
  const repeated = /^(.{1,4})\1+$/su.test(plain);
  const known = (form: string) =>
    KNOWN_TO_ALL.has(form) || form === userName.toLowerCase() || ROWS.some((row) => row.includes(form));
  return repeated || known(plain) || (bare !== '' && known(bare));
}

/** Throws `request-invalid`. */
export function checkPassword(password: string, userName: string): void {
  const weakness = weaknessOf(password, userName);
  if (weakness) throw invalid(weakness);
}
