import type { Ledger } from './ledger.ts';
import type { QuotaConfiguration } from './quota-configuration.ts';
import { globalScope, layerScopes } from './quota-credit.ts';

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
  ledger: Pick<Ledger, 'diskBytes'>,
): QuotaRoom | null {
  if (!configuration.enabled) return null;
  const scopes = [globalScope(configuration), ...layerScopes(configuration)];
  const rooms = scopes.flatMap(({ layer, limit }): QuotaRoom[] => {
    if (layer !== null && layer !== name) return [];
    const scope = layer === null ? 'global' : 'layer';
    return [{ scope, limitBytes: limit, usedBytes: ledger.diskBytes(layer) }];
  });
  return rooms.sort((a, b) => leftIn(a) - leftIn(b))[0] ?? null;
}

function leftIn({ limitBytes, usedBytes }: QuotaRoom): number {
  return limitBytes - usedBytes;
}
