import { omitUndefined } from '../lib/omit-undefined.ts';
import { FIRST_ADMINISTRATOR, forgetInitialPassword } from './first-administrator.ts';
import type { PasswordHasher } from './password-hasher.ts';
import {
  checkAccount,
  checkLayerPatterns,
  checkPassword,
  checkRole,
  type User,
  type UserChanges,
  type UserDraft,
} from './user.ts';
import type { Change, UserStore } from './user-store.ts';

interface AccountServiceDeps {
  readonly users: UserStore;
  readonly hasher: PasswordHasher;
  readonly passwordFile: string;
}

/** Creates, changes and removes users. A refusal is a `TilewardenError` that says what to do. */
export function createAccountService({ users, hasher, passwordFile }: AccountServiceDeps) {
  async function forgetInitialPasswordOf(name: string): Promise<void> {
    if (name === FIRST_ADMINISTRATOR) await forgetInitialPassword(passwordFile);
  }

  return {
    list: users.list,
    find: (name: string): Promise<User | null> => users.find(name),

    async add({ name, password, role, layers }: UserDraft): Promise<User> {
      checkAccount({ name, role, layers });
      checkPassword(password, name);
      const stored = await hasher.hash(password);
      return users.add({ name, password: stored, role, layers, passwordIsInitial: false });
    },

    /** Ends the user's sessions. `known`: as in the store. */
    async change(name: string, { password, role, layers }: UserChanges, known?: User): Promise<Change<User>> {
      if (role !== undefined) checkRole(role);
      if (layers !== undefined) checkLayerPatterns(layers);
      if (password !== undefined) checkPassword(password, name);
      const stored = password === undefined ? undefined : await hasher.hash(password);
      const change = await users.change(name, omitUndefined({ password: stored, role, layers }), known);
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
