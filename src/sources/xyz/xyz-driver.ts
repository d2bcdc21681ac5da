import type { SourceDriver } from '../source-driver.ts';
import { openXyzSource, xyzOffers } from './xyz-source.ts';
import { type XyzSourceOptions, xyzSourceOptions } from './xyz-source-options.ts';

export const xyzDriver = {
  type: 'xyz',
  options: xyzSourceOptions,
  shown: ['url'],
  pictures: 'ready-made',
  passesCredentials: true,
  queryable: false,
  offers: xyzOffers,
  open: openXyzSource,
} as const satisfies SourceDriver<XyzSourceOptions>;
