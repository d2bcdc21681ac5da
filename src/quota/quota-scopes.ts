import { type ExpirationPolicy, type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';
import type { UsedBytes } from './usage-report.ts';

/** A quota, of one layer or of all together. */
export interface QuotaScope {
  /** Null: all layers. */
  readonly layer: string | null;
  readonly policy: ExpirationPolicy;
  /** Bytes that its tiles may take. */
  readonly limit: number;
}

/** How far above its quota usage may go at most: this share of the quota, or these bytes if they are more. */
const TOLERATED_SHARE = 0.01;
const TOLERATED_BYTES = 64 * 1024 ** 2;
/** Shares of that: where writers wait, and how much further writers go that clients wait for. */
const WRITERS_SHARE = 0.4;
const RESERVE_SHARE = 0.15;

export function layerScopes({ layerQuotas }: QuotaConfiguration): readonly QuotaScope[] {
  return layerQuotas.map(({ layer, expirationPolicyName: policy, quota }) => ({
    layer,
    policy,
    limit: quotaBytes(quota),
  }));
}

export function globalScope({ globalExpirationPolicyName, globalQuota }: QuotaConfiguration): QuotaScope {
  return { layer: null, policy: globalExpirationPolicyName, limit: quotaBytes(globalQuota) };
}

/** The quotas in force. */
export function scopesOf(configuration: QuotaConfiguration): readonly QuotaScope[] {
  return configuration.enabled ? [...layerScopes(configuration), globalScope(configuration)] : [];
}

export function toleratedAbove({ limit }: Pick<QuotaScope, 'limit'>): number {
  return Math.max(TOLERATED_BYTES, Math.floor(limit * TOLERATED_SHARE));
}

/** The usage at which writers wait. It is higher with the reserve, so that a seed does not block writes for clients. */
export function writersLimit(scope: Pick<QuotaScope, 'limit'>, withReserve: boolean): number {
  return (
    scope.limit + Math.floor(toleratedAbove(scope) * (WRITERS_SHARE + (withReserve ? RESERVE_SHARE : 0)))
  );
}

/** The quota that leaves the least room for tiles of a layer. */
export interface QuotaRoom {
  readonly scope: 'global' | 'layer';
  readonly limitBytes: number;
  readonly usedBytes: number;
}

/** Null when quotas are not enforced. */
export function quotaRoom(
  name: string,
  configuration: QuotaConfiguration,
  used: UsedBytes,
): QuotaRoom | null {
  const rooms = scopesOf(configuration)
    .filter(({ layer }) => layer === null || layer === name)
    .map(({ layer, limit }): QuotaRoom => {
      const scope = layer === null ? 'global' : 'layer';
      return { scope, limitBytes: limit, usedBytes: used(layer) };
    });
  return rooms.sort((a, b) => leftIn(a) - leftIn(b))[0] ?? null;
}

function leftIn({ limitBytes, usedBytes }: QuotaRoom): number {
  return limitBytes - usedBytes;
}
