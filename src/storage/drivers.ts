import type { z as Zod } from 'zod';
import { TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { systemRandom } from '../lib/random.ts';
import type { DriverSchemas } from '../lib/schemas.ts';
import { azureDriver } from './azure/azure-driver.ts';
import { azureBucketOptions } from './azure/azure-store-options.ts';
import { s3Driver } from './s3/s3-driver.ts';
import { s3BucketOptions } from './s3/s3-store-options.ts';
import { memoryDriver } from './segments/memory-store.ts';
import { segmentsDriver } from './segments/segments-driver.ts';
import type { Store } from './store.ts';
import type { StoreDriver, StoreTools } from './store-driver.ts';

/** All kinds of stores. No other file names one. */
export const STORE_DRIVERS = [segmentsDriver, memoryDriver, s3Driver, azureDriver] as const;

/** The schemas of the options, in the order of the drivers. */
export type StoreSchemas = DriverSchemas<typeof STORE_DRIVERS>;
export type StoreSettings = Zod.output<StoreSchemas[number]>;

/** Buckets of other programs, which are only read. */
export const BUCKET_OPTIONS = [s3BucketOptions, azureBucketOptions] as const;
type BucketSettings = Zod.output<(typeof BUCKET_OPTIONS)[number]>;

/** The buckets by name; each is opened by its first read. */
export function openBuckets(buckets: Readonly<Record<string, BucketSettings>>, env: Env) {
  const opened = new Map<string, ReturnType<typeof openBucket>>();
  return {
    /** Null: the object does not exist. Throws `store-failed`. */
    async read(name: string, key: string) {
      const settings = buckets[name];
      if (!settings) throw new TilewardenError('store-failed', `No bucket of adoptBuckets is named ${name}.`);
      return (await getOrCreate(opened, name, () => openBucket(settings, env))).read(key);
    },
    async close(): Promise<void> {
      for (const bucket of await Promise.allSettled(opened.values())) {
        if (bucket.status === 'fulfilled') bucket.value.close();
      }
    },
  };
}

/** Opens a bucket without a request to it. */
async function openBucket(settings: BucketSettings, env: Env) {
  const tools = { ...env, random: systemRandom, unchecked: true } as const;
  return settings.type === 's3'
    ? (await import('./s3/s3-objects.ts')).openS3Objects(settings, tools)
    : (await import('./azure/azure-objects.ts')).openAzureObjects(settings, tools);
}

export function driverOf({ type }: Pick<StoreSettings, 'type'>): StoreDriver<StoreSettings> {
  return STORE_DRIVERS.find((driver) => driver.type === type) ?? segmentsDriver;
}

/** Types of stores with these places, for messages. */
export function typesOf(...places: readonly StoreDriver['place'][]): string {
  return STORE_DRIVERS.flatMap(({ type, place }) => (places.includes(place) ? type : [])).join(' or ');
}

export async function openStore(
  settings: StoreSettings,
  tools: Omit<StoreTools, 'openCopies'>,
): Promise<Store> {
  const all: StoreTools = {
    ...tools,
    async openCopies() {
      return segmentsDriver.open(segmentsDriver.options.parse({ type: 'bundle' }), all);
    },
  };
  return driverOf(settings).open(settings, all);
}
