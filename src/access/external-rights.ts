import type { Caller, ExternalIdentity } from './caller.ts';
import { type ClaimSettings, rightsOf } from './claims.ts';
import { PROXY_GROUPS, type ProxyLogin } from './proxy-login.ts';

/** Rights of an account of another system by today's configuration; null: no access. */
export type RightsToday = (
  identity: Pick<ExternalIdentity, 'issuer' | 'claims'>,
) => Pick<Caller, 'role' | 'layers'> | null;

/** The only place that gives rights to external accounts: sessions, bearer tokens, proxies and owners of tokens. */
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
