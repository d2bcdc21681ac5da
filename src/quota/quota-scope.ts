import { type ExpirationPolicy, type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';
import { EVERYTHING, scopeOfLayer } from './quota-credit.ts';

/** What one quota limits. */
export interface QuotaScope {
  /** Null: all of them. */
  readonly layer: string | null;
  readonly policy: ExpirationPolicy;
  /** What its tiles may take on disk. */
  readonly limit: number;
  /** The name of its credit. */
  readonly scope: string;
}

/** How far above its quota usage may go at most: this share of the quota, or these bytes if they are more. */
const TOLERATED_SHARE = 0.01;
const TOLERATED_BYTES = 64 * 1024 ** 2;

export function layerScopes({ layerQuotas }: QuotaConfiguration): readonly QuotaScope[] {
  return layerQuotas.map(({ layer, expirationPolicyName: policy, quota }) => ({
    scope: scopeOfLayer(layer),
    policy,
    limit: quotaBytes(quota),
    layer,
  }));
}

export function globalScope({ globalExpirationPolicyName, globalQuota }: QuotaConfiguration): QuotaScope {
  const policy = globalExpirationPolicyName;
  return { scope: EVERYTHING, policy, limit: quotaBytes(globalQuota), layer: null };
}

export function toleratedAbove({ limit }: Pick<QuotaScope, 'limit'>): number {
  return Math.max(TOLERATED_BYTES, Math.floor(limit * TOLERATED_SHARE));
}
