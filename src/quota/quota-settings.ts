import type { Database, Statements } from '../db/database.ts';
import {
  changedConfiguration,
  DEFAULT_QUOTA_CONFIGURATION,
  type QuotaChange,
  type QuotaConfiguration,
} from './quota-configuration.ts';

const CHANNEL = 'quota-changed';
const ONLY_ROW = 1;

export type QuotaSettings = ReturnType<typeof createQuotaSettings>;

/** The quota's configuration: kept in the database, the same for every process. */
export function createQuotaSettings(database: Database) {
  return {
    read: (): Promise<QuotaConfiguration> => readFrom(database.query),

    /**
     * All of it or nothing; durable when it resolves, with what is in effect from now on. `check` sees what is about to be
     * changed, and may throw: then nothing is.
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

    /** Calls back after every change made through this database; returns what ends it. */
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
