import type { CleanUpGoal } from './clean-up.ts';
import { type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';
import { EVERYTHING, scopeOfLayer } from './quota-credit.ts';

/** What one quota limits. */
export interface QuotaScope extends CleanUpGoal {
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
    concerns: ({ set }) => set.layer === layer,
  }));
}

export function globalScope({ globalExpirationPolicyName, globalQuota }: QuotaConfiguration): QuotaScope {
  const policy = globalExpirationPolicyName;
  return { scope: EVERYTHING, policy, limit: quotaBytes(globalQuota), concerns: () => true };
}

export function toleratedAbove({ limit }: Pick<QuotaScope, 'limit'>): number {
  return Math.max(TOLERATED_BYTES, Math.floor(limit * TOLERATED_SHARE));
}
