import { CONNECTION_OPTIONS } from '../http-options.ts';
import type { SourceDriver } from '../source-driver.ts';
import { openXyzSource, xyzOffers } from './xyz-source.ts';
import { type XyzSourceOptions, xyzSourceOptions } from './xyz-source-options.ts';

export const xyzDriver = {
  type: 'xyz',
  options: xyzSourceOptions,
  shown: ['url'],
  connection: ['keys', ...CONNECTION_OPTIONS],
  pictures: 'ready-made',
  passesCredentials: true,
  queryable: false,
  offers: xyzOffers,
  open: openXyzSource,
} as const satisfies SourceDriver<XyzSourceOptions>;
