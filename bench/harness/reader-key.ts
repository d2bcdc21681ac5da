import { join } from 'node:path';
import { createReaderKeyStore } from '../../src/access/reader-key-store.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';

/** A key for the layer `world` of a server that does not run, beside other keys. `limits` as in a draft. */
export async function createReaderKey(data: string, others = 0, limits: object = {}): Promise<string> {
  const location = join(data, 'tilewarden.db');
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  const store = createReaderKeyStore(database, systemClock);
  const none = { areas: null, origins: null, ratePerSecond: null, requestsPerDay: null, expiresAt: null };
  const draft = { name: 'bench', layers: ['world'], ...none };
  for (let i = 0; i < others; i++) await store.create(draft, 'bench');
  const { secret } = await store.create({ ...draft, ...limits }, 'bench');
  await database.close();
  return secret;
}
