import { FIRST_ADMINISTRATOR, forgetInitialPassword } from './first-administrator.ts';
import type { PasswordHasher } from './password-hasher.ts';
import {
  checkAccountName,
  checkLayerPatterns,
  checkPassword,
  checkRole,
  checkScope,
  type User,
  type UserChanges,
  type UserDraft,
} from './user.ts';
import type { Change, UserStore } from './user-store.ts';

export interface AccountDeskDeps {
  readonly users: UserStore;
  readonly hasher: PasswordHasher;
  readonly passwordFile: string;
}

/** Where users are made, changed and removed. Every refusal is a `TilewardenError` that says what to do. */
export class AccountDesk {
  readonly #deps: AccountDeskDeps;

  constructor(deps: AccountDeskDeps) {
    this.#deps = deps;
  }

  list(): Promise<readonly User[]> {
    return this.#deps.users.list();
  }

  find(name: string): Promise<User | null> {
    return this.#deps.users.find(name);
  }

  async add({ name, password, role, layers }: UserDraft): Promise<User> {
    checkAccountName(name);
    checkRole(role);
    checkLayerPatterns(layers);
    checkScope({ role, layers });
    checkPassword(password, name);
    const stored = await this.#deps.hasher.hash(password);
    return this.#deps.users.add({ name, password: stored, role, layers, passwordIsInitial: false });
  }

  /** Ends the user's sessions. */
  async change(name: string, { password, role, layers }: UserChanges): Promise<Change<User>> {
    if (role !== undefined) checkRole(role);
    if (layers !== undefined) checkLayerPatterns(layers);
    if (password !== undefined) checkPassword(password, name);
    const stored = password === undefined ? undefined : await this.#deps.hasher.hash(password);
    const change = await this.#deps.users.change(name, {
      ...(stored !== undefined && { password: stored }),
      ...(role !== undefined && { role }),
      ...(layers !== undefined && { layers }),
    });
    if (stored !== undefined) await this.#forgetInitialPasswordOf(name);
    return change;
  }

  async remove(name: string): Promise<User> {
    const user = await this.#deps.users.remove(name);
    await this.#forgetInitialPasswordOf(name);
    return user;
  }

  async #forgetInitialPasswordOf(name: string): Promise<void> {
    if (name === FIRST_ADMINISTRATOR) await forgetInitialPassword(this.#deps.passwordFile);
  }
}
