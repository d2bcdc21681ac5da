import type { Database, Statements } from '../db/database.ts';
import { invalid } from '../domain/errors.ts';

export const STORAGE_UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;
export type StorageUnit = keyof typeof STORAGE_UNITS;

/** Milliseconds. */
export const CLEAN_UP_UNITS = {
  SECONDS: 1000,
  MINUTES: 60_000,
  HOURS: 3_600_000,
  DAYS: 86_400_000,
} as const;
type CleanUpUnit = keyof typeof CLEAN_UP_UNITS;

export const EXPIRATION_POLICIES = ['LRU', 'LFU'] as const;
export type ExpirationPolicy = (typeof EXPIRATION_POLICIES)[number];

/** A size as it was entered: 100 GiB stays 100 GiB. */
export interface Quota {
  readonly value: number;
  readonly units: StorageUnit;
}

export interface LayerQuota {
  readonly layer: string;
  readonly expirationPolicyName: ExpirationPolicy;
  readonly quota: Quota;
}

/** How much space tiles may use, and which are removed first when they use more. */
export interface QuotaConfiguration {
  /** False stops removal, not accounting. */
  readonly enabled: boolean;
  /** Bytes. For stores that keep a file for each tile. */
  readonly diskBlockSize: number;
  readonly cacheCleanUpFrequency: number;
  readonly cacheCleanUpUnits: CleanUpUnit;
  readonly maxConcurrentCleanUps: number;
  readonly globalExpirationPolicyName: ExpirationPolicy;
  readonly globalQuota: Quota;
  readonly layerQuotas: readonly LayerQuota[];
}

/** The fields to change, also of the global quota. */
export type QuotaChange = Partial<Omit<QuotaConfiguration, 'globalQuota'>> & {
  readonly globalQuota?: Partial<Quota>;
};

export const DEFAULT_QUOTA_CONFIGURATION: QuotaConfiguration = {
  enabled: false,
  diskBlockSize: 4096,
  cacheCleanUpFrequency: 10,
  cacheCleanUpUnits: 'SECONDS',
  maxConcurrentCleanUps: 2,
  globalExpirationPolicyName: 'LFU',
  globalQuota: { value: 500, units: 'MiB' },
  layerQuotas: [],
};

/** Half of what a double counts exactly: sums of sizes stay exact. */
const MAX_BYTES = Number.MAX_SAFE_INTEGER / 2;

/** Absent fields keep their value. */
export function changedConfiguration(
  configuration: QuotaConfiguration,
  change: QuotaChange,
): QuotaConfiguration {
  const globalQuota = { ...configuration.globalQuota, ...change.globalQuota };
  const changed = { ...configuration, ...change, globalQuota };
  refuseTooLarge('globalQuota', globalQuota);
  for (const { quota } of changed.layerQuotas) refuseTooLarge('quota', quota);
  return changed;
}

function refuseTooLarge(name: string, { value, units }: Quota): void {
  if (value * STORAGE_UNITS[units] <= MAX_BYTES) return;
  throw invalid(`${name} must be less than 4096 TiB, not ${value} ${units}`);
}

export function quotaBytes({ value, units }: Quota): number {
  return Math.floor(value * STORAGE_UNITS[units]);
}

/** Milliseconds between clean-ups. */
export function cleanUpPeriod(configuration: QuotaConfiguration): number {
  return configuration.cacheCleanUpFrequency * CLEAN_UP_UNITS[configuration.cacheCleanUpUnits];
}

const CHANNEL = 'quota-changed';
const ONLY_ROW = 1;

export type QuotaSettings = ReturnType<typeof createQuotaSettings>;

/** The quota's configuration: kept in the database, the same for every process. */
export function createQuotaSettings(database: Database) {
  return {
    read: (): Promise<QuotaConfiguration> => readFrom(database.query),

    /**
     * All of it or nothing; durable when it resolves, with the configuration that is now in effect. `check` receives
     * the change, and may throw: then nothing changes.
     */
    async change(
      change: QuotaChange,
      check?: (current: QuotaConfiguration) => void,
    ): Promise<QuotaConfiguration> {
      const changed = await database.transaction('quota', async (query) => {
        const current = await readFrom(query);
        check?.(current);
        const next = changedConfiguration(current, change);
        await write(query, next);
        return next;
      });
      await database.notify(CHANNEL);
      return changed;
    },

    /** Calls back after every change through this database; returns a function that unsubscribes. */
    subscribe: (listener: () => void): (() => void) => database.listen(CHANNEL, listener),
  };
}

async function readFrom(query: Statements): Promise<QuotaConfiguration> {
  const row = await query
    .selectFrom('quota_configuration')
    .select('document')
    .where('id', '=', ONLY_ROW)
    .executeTakeFirst();
  const kept = row ? (JSON.parse(row.document) as Partial<QuotaConfiguration>) : {};
  return { ...DEFAULT_QUOTA_CONFIGURATION, ...kept };
}

async function write(query: Statements, configuration: QuotaConfiguration): Promise<void> {
  const document = JSON.stringify(configuration);
  await query
    .insertInto('quota_configuration')
    .values({ id: ONLY_ROW, document })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ document }))
    .execute();
}
