import { TilewardenError } from '../domain/errors.ts';
import { isRecord } from '../lib/value-path.ts';
import { type Caller, type ExternalIdentity, ROLES, type Role } from './caller.ts';

/** Names of groups and the roles they have here. */
type RoleMap = Readonly<Record<string, Role>>;

export interface ClaimSettings {
  /** A path, e.g. `realm_access.roles`. */
  readonly roleClaim: string;
  readonly roles: RoleMap;
  /** Null: all layers. */
  readonly layersClaim: string | null;
}

export type Claims = Readonly<Record<string, unknown>>;

/** The highest role of the groups; null: no group has a role. */
function highestRole(groups: readonly string[], roles: RoleMap): Role | null {
  const ownRoles = groups.flatMap((group) => (Object.hasOwn(roles, group) ? [roles[group]] : []));
  return ROLES.findLast((role) => ownRoles.includes(role)) ?? null;
}

/** Role and layers from the claims; a null role: no access. */
function rightsOf(
  claims: Claims,
  { roleClaim, roles, layersClaim }: ClaimSettings,
): { readonly role: Role | null; readonly layers: readonly string[] } {
  const roleValue = claimAt(claims, roleClaim);
  // Some issuers send a single group as text. Layers must be a list: a text gives access to none.
  const groups = typeof roleValue === 'string' ? [roleValue] : textsIn(roleValue);
  const layers = layersClaim === null ? ['*'] : textsIn(claimAt(claims, layersClaim));
  return { role: highestRole(groups, roles), layers };
}

const MAX_NAME_LENGTH = 200;

/** For display; issuer and subject identify the account. */
function nameIn(claims: Claims): string {
  const names = ['preferred_username', 'email', 'sub'].map((claim) => claims[claim]);
  const name = names.find((text) => typeof text === 'string' && text.trim() !== '');
  return String(name ?? '').slice(0, MAX_NAME_LENGTH);
}

/** The account of an issuer's user, with only the claims that determine its rights, by their paths. */
export function identityOf(
  claims: Claims,
  { issuer, roleClaim, layersClaim }: ClaimSettings & { readonly issuer: string },
  issuedAt: number,
): ExternalIdentity {
  const paths = layersClaim === null ? [roleClaim] : [roleClaim, layersClaim];
  const kept = Object.fromEntries(paths.map((path) => [path, claimAt(claims, path)]));
  return { issuer, subject: String(claims.sub), name: nameIn(claims), claims: kept, issuedAt };
}

/** A claim by its name, which may have dots, or by its path. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const step of path.split('.')) {
    if (!isRecord(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string' && text !== '') : [];
}

/** Rights of an external account under the current configuration; null: no access. */
export type RightsToday = (
  identity: Pick<ExternalIdentity, 'issuer' | 'claims'>,
) => Pick<Caller, 'role' | 'layers'> | null;

/** The only place that gives rights to external accounts, by session, bearer token or proxy, or as owners of API tokens. */
export function createRightsToday(
  oidc: (ClaimSettings & { readonly issuer: string }) | null,
  proxyLogin: ProxyLogin | null,
): RightsToday {
  const byProxy = proxyLogin && { roleClaim: PROXY_GROUPS, roles: proxyLogin.roles, layersClaim: null };
  return ({ issuer, claims }) => {
    const settings = issuer === null ? byProxy : oidc?.issuer === issuer ? oidc : null;
    if (!settings) return null;
    const { role, layers } = rightsOf(claims, settings);
    return role && { role, layers };
  };
}

/** `user` and `groups` name the headers in which a trusted proxy describes the signed-in user. */
export interface ProxyLogin {
  readonly user: string;
  readonly groups: string;
  readonly roles: RoleMap;
}

/** Values of these headers; groups are separated by commas. */
export interface ProxyHeaders {
  readonly user: string;
  readonly groups: string;
}

/** The claim that holds the groups of a proxy's header. */
const PROXY_GROUPS = 'groups';

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
