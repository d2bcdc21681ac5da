import type { z as Zod } from 'zod';
import type { DriverSchemas } from '../lib/schemas.ts';
import { azureDriver } from './azure/azure-driver.ts';
import { azureBucketOptions } from './azure/azure-store-options.ts';
import type { GuardTools } from './objects/object-guard.ts';
import type { ObjectStore } from './objects/object-store.ts';
import { s3Driver } from './s3/s3-driver.ts';
import { s3BucketOptions } from './s3/s3-store-options.ts';
import { memoryDriver } from './segments/memory-store.ts';
import { segmentsDriver } from './segments/segments-driver.ts';
import type { Store } from './store.ts';
import type { StoreDriver, StoreTools } from './store-driver.ts';

/** Every kind of store; no other file names one. */
export const STORE_DRIVERS = [segmentsDriver, memoryDriver, s3Driver, azureDriver] as const;

/** The schemas of the options, in the order of the drivers. */
export type StoreSchemas = DriverSchemas<typeof STORE_DRIVERS>;
export type StoreSettings = Zod.output<StoreSchemas[number]>;

/** Buckets of other programs, which are only read. */
export const BUCKET_OPTIONS = [s3BucketOptions, azureBucketOptions] as const;
export type BucketSettings = Zod.output<(typeof BUCKET_OPTIONS)[number]>;

/** Sends no request. */
export async function openBucket(
  settings: BucketSettings,
  env: GuardTools,
): Promise<Pick<ObjectStore, 'read' | 'close'>> {
  const tools = { ...env, unchecked: true } as const;
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
  const driver = driverOf(settings);
  const all: StoreTools = {
    ...tools,
    async openCopies() {
      return segmentsDriver.open(segmentsDriver.options.parse({ type: 'bundle' }), all);
    },
  };
  // This store stays empty, so that every tile is read by the process with the database.
  if (driver.place === 'shared' && !tools.database) return memoryDriver.open({ type: 'memory' });
  return driver.open(settings, all);
}
