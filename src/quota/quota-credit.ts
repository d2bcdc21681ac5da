import type { Database } from '../db/database.ts';
import { type ExpirationPolicy, type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';

/** What may still be added to a scope. Both counts only rise, so that no change undoes another. */
export interface Credit {
  readonly scope: string;
  readonly taken: number;
  readonly allowed: number;
  /** What those who answer clients may take beyond `allowed`, so that a seed does not leave them without. */
  readonly reserve: number;
}

export const EVERYTHING = '';

export function scopeOfLayer(layer: string): string {
  return JSON.stringify(layer);
}

export function creditLeft({ taken, allowed, reserve }: Credit, withReserve: boolean): number {
  return Math.max(0, allowed + (withReserve ? reserve : 0) - taken);
}

export type QuotaCredit = ReturnType<typeof createQuotaCredit>;

/** The bytes that writers, in whatever process, may add before the usage is measured again. */
export function createQuotaCredit(database: Database) {
  return {
    read: (): Promise<readonly Credit[]> => database.query.selectFrom('quota_credit').selectAll().execute(),

    /** What was granted: at most `amount`, nothing when there is none left or the scope has no limit any more. */
    take: (scope: string, amount: number, withReserve: boolean): Promise<number> =>
      database.transaction('quota-credit', async (query) => {
        const credit = await query
          .selectFrom('quota_credit')
          .selectAll()
          .where('scope', '=', scope)
          .executeTakeFirst();
        const granted = credit ? Math.min(amount, creditLeft(credit, withReserve)) : 0;
        if (!credit || granted === 0) return 0;
        const taken = credit.taken + granted;
        await query.updateTable('quota_credit').set({ taken }).where('scope', '=', scope).execute();
        return granted;
      }),

    /** Scopes that are left out have no limit. */
    allow: (credits: readonly Omit<Credit, 'taken'>[]): Promise<void> =>
      database.transaction('quota-credit', async (query) => {
        const scopes = credits.map(({ scope }) => scope);
        await query
          .deleteFrom('quota_credit')
          .$if(scopes.length > 0, (rows) => rows.where('scope', 'not in', scopes))
          .execute();
        for (const { scope, allowed, reserve } of credits) {
          await query
            .insertInto('quota_credit')
            .values({ scope, taken: 0, allowed, reserve })
            .onConflict((conflict) => conflict.column('scope').doUpdateSet({ allowed, reserve }))
            .execute();
        }
      }),
  };
}

export interface QuotaScope {
  /** Null: all of them. */
  readonly layer: string | null;
  readonly policy: ExpirationPolicy;
  /** What its tiles may take on disk. */
  readonly limit: number;
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
