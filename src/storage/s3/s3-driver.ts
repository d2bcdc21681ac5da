import { packDriver } from '../objects/pack-driver.ts';
import { type S3StoreOptions, s3StoreOptions } from './s3-store-options.ts';

export const s3Driver = {
  type: 's3',
  options: s3StoreOptions,
  shown: ['bucket', 'prefix', 'endpoint'],
  geowebcacheName: 'S3BlobStore',
  ...packDriver<S3StoreOptions>(async () => (await import('./s3-objects.ts')).openS3Objects),
} as const;
