import { invalid } from '../domain/errors.ts';
import { isTokenShaped } from './api-token.ts';
import { mayWorkOnAll, ROLES, type Role } from './caller.ts';

export interface User {
  readonly name: string;
  readonly role: Role;
  /** Patterns of layer names; `*` in one stands for any text. */
  readonly layers: readonly string[];
  /** The server made the password up, and nobody has changed it yet. */
  readonly passwordIsInitial: boolean;
  readonly createdAt: number;
  readonly changedAt: number;
}

export type UserDraft = Pick<User, 'name' | 'role' | 'layers'> & { readonly password: string };
export type UserChanges = {
  readonly [Field in 'password' | 'role' | 'layers']?: UserDraft[Field] | undefined;
};

/** RFC 7617, 2: no colon in a user's name. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const MAX_PATTERNS = 100;
const MAX_PATTERN_LENGTH = 200;

function checkAccountName(name: string): void {
  if (NAME.test(name)) return;
  throw invalid(
    'A name has 1 to 64 letters, digits, dots, hyphens, underscores or @ signs, the first a letter or digit.',
  );
}

export function checkRole(role: string): void {
  if ((ROLES as readonly string[]).includes(role)) return;
  throw invalid(`A role is one of ${ROLES.join(', ')}.`);
}

export function checkLayerPatterns(layers: readonly string[]): void {
  const fits = (pattern: string) => pattern.length >= 1 && pattern.length <= MAX_PATTERN_LENGTH;
  if (layers.length >= 1 && layers.length <= MAX_PATTERNS && layers.every(fits)) return;
  throw invalid(
    `layers lists 1 to ${MAX_PATTERNS} names or patterns such as topp:*; ["*"] stands for all layers.`,
  );
}

/** What holds for users and tokens. Throws `request-invalid`. */
export function checkAccount({ name, role, layers }: Pick<User, 'name' | 'role' | 'layers'>): void {
  checkAccountName(name);
  checkRole(role);
  checkLayerPatterns(layers);
  checkScope({ role, layers });
}

/** Who may change every account may widen their own scope: below an administrator only is it one. */
export function checkScope({ role, layers }: Pick<User, 'role' | 'layers'>): void {
  if (role !== 'admin' || mayWorkOnAll({ layers })) return;
  throw invalid('An administrator works on all layers: give layers ["*"], or the role operator or viewer.');
}

const MIN_PASSWORD_LENGTH = 12;
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
  if (isKnownToAll(password, userName)) return 'This password is too common.';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 7617, 2: no control characters in a password
  if (/[\u0000-\u001f\u007f]/.test(password)) return 'A password must not contain control characters.';
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
