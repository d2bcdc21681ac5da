import { randomInt } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { misconfigured } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { PasswordHasher } from './password-hasher.ts';
import { isKnownToAll, weaknessOf } from './user.ts';
import type { UserStore } from './user-store.ts';

export const FIRST_ADMINISTRATOR = 'admin';

/** Who can reach the server: other machines too, or this one only. */
export type Exposure = 'network' | 'loopback';

const LENGTH = 24;
/** Without characters that look alike: the password is read from a screen and typed. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const OWNER_ONLY = 0o600;

export interface FirstAdministratorDeps {
  readonly users: UserStore;
  readonly hasher: PasswordHasher;
  /** File of a generated password, until it is changed. */
  readonly passwordFile: string;
  readonly log: Logger;
}

/**
 * Creates the first administrator, if there is none yet, with the password `given`, or a generated one. Resolves with
 * the generated password, so that it can be shown once; null otherwise.
 */
export async function ensureAdministrator(
  { users, hasher, passwordFile, log }: FirstAdministratorDeps,
  given: string | null,
  exposure: Exposure,
): Promise<string | null> {
  if ((await users.list()).some(({ role }) => role === 'admin')) return null;
  if (given !== null) refuseWeakPassword(given, exposure, log);
  const password = given ?? Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const stored = await hasher.hash(password);
  // The file comes first: a crash in between leaves a password without a user, never a user without a password.
  if (given === null) await writePasswordFile(passwordFile, password);
  const isNew = await users.addFirst({
    name: FIRST_ADMINISTRATOR,
    password: stored,
    role: 'admin',
    layers: ['*'],
    areas: null,
    passwordIsInitial: given === null,
  });
  if (given !== null) return null;
  if (!isNew) await forgetInitialPassword(passwordFile);
  return isNew ? password : null;
}

export async function forgetInitialPassword(passwordFile: string): Promise<void> {
  await rm(passwordFile, { force: true });
}

/** Refuses well-known passwords, and short ones if the server is reachable from other machines. */
function refuseWeakPassword(given: string, exposure: Exposure, log: Logger): void {
  const weakness = weaknessOf(given, FIRST_ADMINISTRATOR);
  if (weakness === null) return;
  if (exposure === 'network' || isKnownToAll(given, FIRST_ADMINISTRATOR)) {
    throw misconfigured(`TILEWARDEN_ADMIN_PASSWORD cannot be used: ${weakness}`);
  }
  log.warn({}, `TILEWARDEN_ADMIN_PASSWORD is weak: ${weakness}`);
}

async function writePasswordFile(file: string, password: string): Promise<void> {
  // A new file: an existing one would keep its mode.
  await rm(file, { force: true });
  await writeFile(file, `${password}\n`, { mode: OWNER_ONLY, flush: true });
}
