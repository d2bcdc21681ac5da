import { z } from 'zod';
import { schemaKit } from '../lib/schemas.ts';
import { archiveSourceOptions } from '../sources/archive/archive-source-options.ts';
import { layerSourceOptions } from '../sources/layer/layer-source-options.ts';
import { upstreamOptions } from '../sources/upstream/upstream-options.ts';
import { wmsSourceOptions } from '../sources/wms/wms-source-options.ts';
import { wmtsSourceOptions } from '../sources/wmts/wmts-source-options.ts';
import { worldSourceOptions } from '../sources/world/world-source-options.ts';
import { xyzSourceOptions } from '../sources/xyz/xyz-source-options.ts';
import { STORE_DRIVERS, type StoreSchemas } from '../storage/drivers.ts';

// Each driver owns its options; here they become one choice by `type`.
export const storeSchema = z.discriminatedUnion(
  'type',
  STORE_DRIVERS.map(({ options }) => options(schemaKit)) as unknown as StoreSchemas,
);
export const sourceSchema = z.discriminatedUnion('type', [
  wmsSourceOptions,
  wmtsSourceOptions,
  xyzSourceOptions,
  archiveSourceOptions,
  layerSourceOptions,
  worldSourceOptions,
]);
export const upstreamSchema = upstreamOptions;

export type SourceSettings = z.output<typeof sourceSchema>;
export type UpstreamSettings = z.output<typeof upstreamSchema>;
