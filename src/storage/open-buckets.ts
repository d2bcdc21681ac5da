import { TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { systemRandom } from '../lib/random.ts';
import { type BucketSettings, openBucket } from './drivers.ts';

/** Buckets of other programs by name, each opened by its first request. */
export function openBuckets(buckets: Readonly<Record<string, BucketSettings>>, env: Env) {
  const opened = new Map<string, ReturnType<typeof openBucket>>();
  return {
    /** Null: the object does not exist. Throws `store-failed`. */
    async read(name: string, key: string) {
      const settings = buckets[name];
      if (!settings) throw new TilewardenError('store-failed', `No bucket of adoptBuckets is named ${name}.`);
      const bucket = getOrCreate(opened, name, () => openBucket(settings, { ...env, random: systemRandom }));
      return (await bucket).read(key);
    },
    async close(): Promise<void> {
      for (const bucket of await Promise.allSettled(opened.values())) {
        if (bucket.status === 'fulfilled') bucket.value.close();
      }
    },
  };
}
