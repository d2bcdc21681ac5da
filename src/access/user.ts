import { invalid } from '../domain/errors.ts';
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

export interface UserDraft {
  readonly name: string;
  readonly password: string;
  readonly role: Role;
  readonly layers: readonly string[];
}

export interface UserChanges {
  readonly password?: string | undefined;
  readonly role?: Role | undefined;
  readonly layers?: readonly string[] | undefined;
}

/** RFC 7617, 2: no colon in a user's name. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const MAX_PATTERNS = 100;
const MAX_PATTERN_LENGTH = 200;

export function checkAccountName(name: string): void {
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

/** Who may change every account may widen their own scope: below an administrator only is it one. */
export function checkScope({ role, layers }: Pick<User, 'role' | 'layers'>): void {
  if (role !== 'admin' || mayWorkOnAll({ layers })) return;
  throw invalid('An administrator works on all layers: give layers ["*"], or the role operator or viewer.');
}
