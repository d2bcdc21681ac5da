import type { Database, Statements } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Role } from './caller.ts';
import { checkScope, type User } from './user.ts';

export interface StoredUser extends User {
  /** In the format of `password-hasher.ts`. */
  readonly password: string;
}

export type NewUser = Pick<
  StoredUser,
  'name' | 'password' | 'role' | 'layers' | 'areas' | 'passwordIsInitial'
>;
export type StoredChanges = Partial<Pick<StoredUser, 'password' | 'role' | 'layers' | 'areas'>>;

export interface Change<Thing> {
  readonly before: Thing;
  readonly after: Thing;
}

const LOCK = 'accounts';

export type UserStore = ReturnType<typeof createUserStore>;

export function createUserStore(database: Database, clock: Clock) {
  return {
    async find(name: string): Promise<StoredUser | null> {
      const row = await userRow(database.query, name);
      return row ? { ...userOf(row), password: row.password } : null;
    },

    async list(): Promise<readonly User[]> {
      const rows = await database.query.selectFrom('users').selectAll().orderBy('name').execute();
      return rows.map(userOf);
    },

    /** Throws `account-conflict` if the name is in use. */
    add: (user: NewUser): Promise<User> =>
      database.transaction(LOCK, async (query) => {
        await refuseTakenName(query, user.name);
        return insert(query, user, clock.now());
      }),

    /** Adds the user if there is no administrator; false otherwise. */
    addFirst: (user: NewUser): Promise<boolean> =>
      database.transaction(LOCK, async (query) => {
        if (await anotherAdministrator(query, '')) return false;
        await refuseTakenName(query, user.name);
        await insert(query, user, clock.now());
        return true;
      }),

    /**
     * Throws `account-unknown`, `request-invalid` for an administrator with a scope, and `account-conflict` when no
     * administrator would be left. Ends the user's sessions, and revokes the tokens of a former administrator.
     * `known`: the user as it was read; also throws `account-conflict` if it was changed in the meantime.
     */
    change: (name: string, changes: StoredChanges, known?: User): Promise<Change<User>> =>
      database.transaction(LOCK, async (query) => {
        const before = await existing(query, name);
        if (known && known.changedAt !== before.changedAt) throw changedMeanwhile(name);
        const { role = before.role, layers = before.layers, areas = before.areas } = changes;
        if (changes.password === undefined || Object.keys(changes).length > 1)
          checkScope({ role, layers, areas });
        const demoted = role !== 'admin' && before.role === 'admin';
        if (demoted) await keepAnAdministrator(query, before);
        if (demoted) await revokeTokens(query, name);
        await query
          .updateTable('users')
          .set(rowChanges(changes, Math.max(clock.now(), before.changedAt + 1)))
          .where('name', '=', name)
          .execute();
        await query.deleteFrom('sessions').where('user_name', '=', name).execute();
        return { before, after: await existing(query, name) };
      }),

    /** Stores the same password hashed at another cost. Not a change of the user: sessions stay open. */
    restorePassword: (name: string, from: string, to: string): Promise<void> =>
      database.transaction(LOCK, async (query) => {
        await query
          .updateTable('users')
          .set({ password: to })
          .where('name', '=', name)
          .where('password', '=', from)
          .execute();
      }),

    /** Also ends the user's sessions and revokes the tokens they created. Throws as `change` does. */
    remove: (name: string): Promise<User> =>
      database.transaction(LOCK, async (query) => {
        const user = await existing(query, name);
        await keepAnAdministrator(query, user);
        await revokeTokens(query, name);
        await query.deleteFrom('sessions').where('user_name', '=', name).execute();
        await query.deleteFrom('users').where('name', '=', name).execute();
        return user;
      }),
  };
}

async function userRow(query: Statements, name: string): Promise<Schema['users'] | null> {
  const row = await query.selectFrom('users').selectAll().where('name', '=', name).executeTakeFirst();
  return row ?? null;
}

async function existing(query: Statements, name: string): Promise<User> {
  const row = await userRow(query, name);
  if (row) return userOf(row);
  throw new TilewardenError('account-unknown', 'There is no such user.');
}

async function refuseTakenName(query: Statements, name: string): Promise<void> {
  if (!(await userRow(query, name))) return;
  throw new TilewardenError('account-conflict', `User ${name} already exists.`);
}

function changedMeanwhile(name: string): TilewardenError {
  return new TilewardenError('account-conflict', `User ${name} was changed in the meantime; try again.`);
}

async function anotherAdministrator(query: Statements, name: string): Promise<boolean> {
  const another = await query
    .selectFrom('users')
    .select('name')
    .where('role', '=', 'admin')
    .where('name', '!=', name)
    .executeTakeFirst();
  return another !== undefined;
}

async function keepAnAdministrator(query: Statements, user: User): Promise<void> {
  if (user.role !== 'admin' || (await anotherAdministrator(query, user.name))) return;
  throw new TilewardenError(
    'account-conflict',
    `${user.name} is the last administrator; create another one first.`,
  );
}

/** Only administrators have tokens: they are revoked when the role is lost. */
async function revokeTokens(query: Statements, name: string): Promise<void> {
  await query.deleteFrom('tokens').where('created_by', '=', name).execute();
}

async function insert(query: Statements, user: NewUser, now: number): Promise<User> {
  const row: Schema['users'] = {
    name: user.name,
    password: user.password,
    role: user.role,
    layers: JSON.stringify(user.layers),
    areas: user.areas && JSON.stringify(user.areas),
    password_initial: user.passwordIsInitial ? 1 : 0,
    created_at: now,
    changed_at: now,
  };
  await query.insertInto('users').values(row).execute();
  return userOf(row);
}

function rowChanges({ password, role, layers, areas }: StoredChanges, now: number): Partial<Schema['users']> {
  return {
    changed_at: now,
    ...(password !== undefined && { password, password_initial: 0 }),
    ...(role !== undefined && { role }),
    ...(layers !== undefined && { layers: JSON.stringify(layers) }),
    ...(areas !== undefined && { areas: areas && JSON.stringify(areas) }),
  };
}

function userOf(row: Schema['users']): User {
  return {
    name: row.name,
    role: row.role as Role,
    layers: JSON.parse(row.layers) as string[],
    areas: row.areas === null ? null : (JSON.parse(row.areas) as string[]),
    passwordIsInitial: row.password_initial === 1,
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}
