import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import { misconfigured } from '../domain/errors.ts';
import { systemRandom } from '../lib/random.ts';
import type { RebuildResult, RebuildTools } from '../storage/s3/rebuild-index.ts';
import { databaseOf } from './open-road.ts';

/** Lists the tiles of an s3 store again from what lies in its bucket. */
export async function rebuildIndexOf(
  settings: Settings,
  name: string,
  tools: Omit<RebuildTools, 'name' | 'database' | 'random'>,
): Promise<RebuildResult> {
  const store = settings.stores[name];
  if (store?.type !== 's3') {
    const known = Object.entries(settings.stores).flatMap(([other, { type }]) =>
      type === 's3' ? other : [],
    );
    const which = known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`;
    throw misconfigured(`There is no store ${name} of the type s3; ${which}.`);
  }
  const { rebuildIndex } = await import('../storage/s3/rebuild-index.ts');
  const database = await openDatabase({ location: databaseOf(settings), ...tools });
  try {
    return await rebuildIndex(store, { ...tools, name, database, random: systemRandom });
  } finally {
    await database.close();
  }
}
