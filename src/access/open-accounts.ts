import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../db/database.ts';
import { createDatabaseLedger } from '../db/database-ledger.ts';
import { createFallbackLedger, createMemoryLedger } from '../lib/budget.ts';
import type { Env } from '../lib/env.ts';
import type { Logger } from '../lib/logger.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { openAuditLog } from './audit-log.ts';
import { Authenticator, CredentialCache } from './authenticator.ts';
import { accountOf } from './caller.ts';
import { createRightsToday, type ProxyLogin } from './claims.ts';
import { createExternalAccounts } from './external-accounts.ts';
import {
  type Exposure,
  ensureAdministrator,
  FIRST_ADMINISTRATOR,
  type FirstAdministratorDeps,
  forgetInitialPassword,
} from './first-administrator.ts';
import { LoginThrottle } from './login-throttle.ts';
import { createOidcProvider, type OidcSettings } from './oidc-provider.ts';
import { openReaderKeys } from './open-reader-keys.ts';
import { openPasswordHasher, type ScryptCost } from './password-hasher.ts';
import { createSessionStore } from './session-store.ts';
import { createTokenStore } from './token-store.ts';
import {
  checkAccount,
  checkLayerPatterns,
  checkPassword,
  type User,
  type UserChanges,
  type UserDraft,
} from './user.ts';
import { type Change, createUserStore } from './user-store.ts';

/** Creates, changes and removes users. A refusal is a `TilewardenError` with advice. */
function createAccountService({ users, hasher, passwordFile }: Omit<FirstAdministratorDeps, 'log'>) {
  async function forgetInitialPasswordOf(name: string): Promise<void> {
    if (name === FIRST_ADMINISTRATOR) await forgetInitialPassword(passwordFile);
  }

  return {
    list: users.list,
    find: (name: string): Promise<User | null> => users.find(name),

    async add({ name, password, role, layers, areas = null }: UserDraft): Promise<User> {
      checkAccount({ name, role, layers, areas });
      checkPassword(password, name);
      const stored = await hasher.hash(password);
      return users.add({ name, password: stored, role, layers, areas, passwordIsInitial: false });
    },

    /** Ends the user's sessions. `known`: the user as read; see `change` in `user-store.ts`. */
    async change(
      name: string,
      { password, role, layers, areas }: UserChanges,
      known?: User,
    ): Promise<Change<User>> {
      if (layers !== undefined) checkLayerPatterns(layers);
      if (password !== undefined) checkPassword(password, name);
      const stored = password === undefined ? undefined : await hasher.hash(password);
      const change = await users.change(
        name,
        omitUndefined({ password: stored, role, layers, areas }),
        known,
      );
      if (stored !== undefined) await forgetInitialPasswordOf(name);
      return change;
    },

    async remove(name: string): Promise<User> {
      const user = await users.remove(name);
      await forgetInitialPasswordOf(name);
      return user;
    },
  };
}

interface AccountsOptions extends Env {
  readonly database: Database;
  readonly dataFolder: string;
  /** The cost of a password check; tests make it cheap. */
  readonly cost?: ScryptCost;
  readonly oidc?: OidcSettings | null;
  readonly fetch?: typeof globalThis.fetch;
  readonly proxyLogin?: ProxyLogin | null;
}

export type Accounts = ReturnType<typeof openAccounts>;

export function openAccounts(options: AccountsOptions) {
  const { database, dataFolder, clock, log, cost, proxyLogin = null, fetch } = options;
  const passwordFile = join(dataFolder, 'initial-admin-password');
  const hasher = openPasswordHasher({ clock, log }, cost);
  const stored = createUserStore(database, clock);
  const rightsToday = createRightsToday(options.oidc ?? null, proxyLogin);
  const externals = createExternalAccounts(database, clock, rightsToday);
  const tokens = createTokenStore(database, clock, externals.isAdministrator);
  const sessions = createSessionStore(database, clock);
  const oidc = options.oidc
    ? createOidcProvider(options.oidc, { clock, log, ...(fetch && { fetch }) })
    : null;
  const audit = openAuditLog({ database, dataFolder, clock, log });
  const localLedger = createMemoryLedger(clock);
  const ledger = database.shared
    ? createFallbackLedger(createDatabaseLedger(database), localLedger, (error) =>
        log.debug({ err: error }, 'failed logins on other nodes could not be read'),
      )
    : localLedger;
  const throttle = new LoginThrottle(clock, { ledger });
  /** Separate: an old key in a page must not block logins from the same address. */
  const keyThrottle = new LoginThrottle(clock, { ledger, scope: 'wrong-key' });
  const readerKeys = openReaderKeys({ database, throttle: keyThrottle, clock, log });
  const authenticator = new Authenticator({
    users: stored,
    tokens,
    sessions,
    externals,
    rightsToday,
    oidc,
    hasher,
    cache: new CredentialCache(clock),
    throttle,
    clock,
    log,
    refused: ({ name, address }) =>
      audit.note({
        phase: 'ended',
        action: 'login',
        actor: name,
        account: name === null ? null : accountOf({ name }),
        source: address,
        outcome: 'refused',
        status: 401,
      }),
  });

  return {
    users: createAccountService({ users: stored, hasher, passwordFile }),
    tokens,
    sessions,
    externals,
    rightsToday,
    /** Null: no sign-in by OpenID Connect. */
    oidc,
    readerKeys,
    authenticator,
    audit,
    /** Separate: events that are signed with an old secret must not block logins from the same address. */
    eventThrottle: new LoginThrottle(clock),
    /** The file of a generated password, until it is changed. */
    passwordFile,
    /** The password of the first administrator, if it was generated now; null otherwise. */
    ensureAdministrator: (given: string | null, exposure: Exposure = 'network'): Promise<string | null> =>
      ensureAdministrator({ users: stored, hasher, passwordFile, log }, given, exposure),
    async close(): Promise<void> {
      await readerKeys.close();
      await hasher.close();
      await audit.close();
    },
  };
}

const WRITABLE_BY_ALL = 0o002;

/** A user of this machine who can write into the data folder can become an administrator. */
export async function warnOfOpenFolder(folder: string, log: Logger): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & WRITABLE_BY_ALL) === 0 || process.platform === 'win32') return;
  log.warn({ folder }, `all users of this machine can write into the data folder; run: chmod o-w ${folder}`);
}
