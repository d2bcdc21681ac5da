import { TilewardenError } from '../domain/errors.ts';
import type { ExternalIdentity } from './caller.ts';
import type { RoleMap } from './claims.ts';

/** Names of headers in which a trusted proxy names the signed-in user. */
export interface ProxyLogin {
  readonly user: string;
  readonly groups: string;
  readonly roles: RoleMap;
}

/** As a trusted proxy sent them, once each. */
export interface ProxyHeaders {
  readonly user: string;
  readonly groups: string;
}

/** The claim in which the groups of a proxy's header are kept. */
export const PROXY_GROUPS = 'groups';

/** Null for an empty name. */
export function proxyIdentity({ user, groups }: ProxyHeaders, now: number): ExternalIdentity | null {
  const name = user.trim();
  if (name === '') return null;
  const claims = { [PROXY_GROUPS]: groups.split(',').map((group) => group.trim()) };
  return { issuer: null, subject: name, name, claims, issuedAt: now };
}

export function roleMissing(name: string): TilewardenError {
  return new TilewardenError(
    'role-missing',
    `${name} has signed in, but none of the groups of this account has a role here.`,
  );
}
