import { CONNECTION_OPTIONS } from '../http-options.ts';
import type { SourceDriver } from '../source-driver.ts';
import { openWmtsSource } from './wmts-source.ts';
import { type WmtsSourceOptions, wmtsSourceOptions } from './wmts-source-options.ts';

export const wmtsDriver = {
  type: 'wmts',
  options: wmtsSourceOptions,
  shown: ['url', 'layer', 'style', 'tileMatrixSet'],
  connection: CONNECTION_OPTIONS,
  pictures: 'ready-made',
  passesCredentials: true,
  queryable: false,
  open: openWmtsSource,
} as const satisfies SourceDriver<WmtsSourceOptions>;
