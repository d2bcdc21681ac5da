import { matchesPattern } from '../lib/scan-text.ts';

export interface Caller {
  /** A user's name, or `token:NAME`. */
  readonly name: string;
  readonly role: Role;
  /** Patterns of the layers the caller may work on; `*` matches any text. */
  readonly layers: readonly string[];
  /** Names of the areas in which the caller sees closed layers; everywhere when absent. */
  readonly areas?: readonly string[];
  /** Kind of credentials; `machine`: a local caller of a server without accounts. */
  readonly via: Via;
  /** For a token: the user who created it. */
  readonly owner?: string;
  /** For a token of an external account: that account, as `externalAccount` names it. */
  readonly ownerAccount?: string;
  /** For a token, whose name is not unique. */
  readonly tokenId?: number;
  /** The account in another system. Absent: a local user or a token. */
  readonly external?: ExternalIdentity;
}

/** A user of an OpenID Connect issuer or of a trusted proxy. */
export interface ExternalIdentity {
  /** Null: a trusted proxy. */
  readonly issuer: string | null;
  readonly subject: string;
  /** For display: the user may have chosen it. */
  readonly name: string;
  /** The claims that determine the rights. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
}

/** Identifies the account among those of all issuers and proxies. */
export function externalAccount({ issuer, subject }: Pick<ExternalIdentity, 'issuer' | 'subject'>): string {
  return issuer === null ? `proxy:${subject}` : `oidc:${issuer} ${subject}`;
}

export const WAYS_IN = ['session', 'oidc', 'jwt', 'proxy', 'basic', 'token', 'machine'] as const;
export type Via = (typeof WAYS_IN)[number];

/** Identifies the account: unlike names, never that of another user or token. */
export function accountOf({
  name,
  tokenId,
  external,
}: Pick<Caller, 'name' | 'tokenId' | 'external'>): string {
  if (external) return externalAccount(external);
  return tokenId === undefined ? `user:${name}` : `token:${tokenId}`;
}

export function mayWorkOn(caller: Pick<Caller, 'layers'>, layer: string): boolean {
  return caller.layers.some((pattern) => matchesPattern(pattern, layer));
}

/** Whether the caller may work on every layer, future ones included. */
export function mayWorkOnAll(caller: Pick<Caller, 'layers'>): boolean {
  return caller.layers.some((pattern) => /^\*+$/.test(pattern));
}

export const ROLES = ['viewer', 'operator', 'admin'] as const;
/** Each role includes the ones before it: read; seed, stop and truncate; everything. */
export type Role = (typeof ROLES)[number];

export function roleSuffices(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
