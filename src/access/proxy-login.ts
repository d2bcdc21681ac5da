import { TilewardenError } from '../domain/errors.ts';
import type { Caller } from './caller.ts';
import { externalCaller, highestRole, type RoleMap } from './claims.ts';

/** Names of headers in which a trusted proxy names the signed-in user. */
export interface ProxyLogin {
  readonly user: string;
  readonly groups: string;
  readonly roles: RoleMap;
}

/** As a trusted proxy sent them; duplicates are joined with commas. */
export interface ProxyHeaders {
  readonly user: string;
  readonly groups: string;
}

/** Null for a name that is empty or came twice. Throws `role-missing` when none of the groups has a role here. */
export function proxyCaller({ user, groups }: ProxyHeaders, { roles }: ProxyLogin): Caller | null {
  const name = user.trim();
  if (name === '' || name.includes(',')) return null;
  const role = highestRole(
    groups.split(',').map((group) => group.trim()),
    roles,
  );
  if (role === null) throw roleMissing(name);
  return externalCaller('proxy', name, { name, role, layers: ['*'] });
}

export function roleMissing(name: string): TilewardenError {
  return new TilewardenError(
    'role-missing',
    `${name} has signed in, but none of the groups of this account has a role here.`,
  );
}
