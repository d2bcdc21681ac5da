import { CONNECTION_OPTIONS } from '../http-options.ts';
import type { SourceDriver } from '../source-driver.ts';
import { openWmsSource } from './wms-source.ts';
import { type WmsSourceOptions, wmsSourceOptions } from './wms-source-options.ts';

export const wmsDriver = {
  type: 'wms',
  options: wmsSourceOptions,
  shown: ['url', 'layers', 'styles', 'version'],
  connection: CONNECTION_OPTIONS,
  pictures: 'drawn',
  passesCredentials: true,
  queryable: true,
  open: openWmsSource,
} as const satisfies SourceDriver<WmsSourceOptions>;
