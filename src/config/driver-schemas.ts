import { z } from 'zod';
import { archiveSourceOptions } from '../sources/archive/archive-source-options.ts';
import { layerSourceOptions } from '../sources/layer/layer-source-options.ts';
import { upstreamOptions } from '../sources/upstream/upstream-options.ts';
import { wmsSourceOptions } from '../sources/wms/wms-source-options.ts';
import { wmtsSourceOptions } from '../sources/wmts/wmts-source-options.ts';
import { worldSourceOptions } from '../sources/world/world-source-options.ts';
import { xyzSourceOptions } from '../sources/xyz/xyz-source-options.ts';
import { adoptOptions } from '../storage/adopted/adopt-options.ts';
import { bundleStoreOptions } from '../storage/bundle/bundle-store-options.ts';
import { memoryStoreOptions } from '../storage/memory/memory-store-options.ts';
import { s3StoreOptions } from '../storage/s3/s3-store-options.ts';

// Each driver owns its options; here they become one choice by `type`.
export const storeSchema = z.discriminatedUnion('type', [
  bundleStoreOptions,
  memoryStoreOptions,
  s3StoreOptions,
]);
export const sourceSchema = z.discriminatedUnion('type', [
  wmsSourceOptions,
  wmtsSourceOptions,
  xyzSourceOptions,
  archiveSourceOptions,
  layerSourceOptions,
  worldSourceOptions,
]);
export const upstreamSchema = upstreamOptions;
export const adoptSchema = adoptOptions;

export type StoreSettings = z.output<typeof storeSchema>;
export type SourceSettings = z.output<typeof sourceSchema>;
export type UpstreamSettings = z.output<typeof upstreamSchema>;
export type AdoptSettings = z.output<typeof adoptSchema>;
