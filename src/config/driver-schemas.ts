import { z } from 'zod';
import { schemaKit } from '../lib/schemas.ts';
import { SOURCE_DRIVERS, type SourceSchemas } from '../sources/drivers.ts';
import { upstreamOptions } from '../sources/upstream/upstream-options.ts';
import { STORE_DRIVERS, type StoreSchemas } from '../storage/drivers.ts';

// Each driver owns its options; here they become one choice by `type`.
export const storeSchema = z.discriminatedUnion(
  'type',
  STORE_DRIVERS.map(({ options }) => options(schemaKit)) as unknown as StoreSchemas,
);
export const sourceSchema = z.discriminatedUnion(
  'type',
  SOURCE_DRIVERS.map(({ options }) => options(schemaKit)) as unknown as SourceSchemas,
);
export const upstreamSchema = upstreamOptions;

export type UpstreamSettings = z.output<typeof upstreamSchema>;
