import { packDriver } from '../objects/pack-driver.ts';
import { type AzureStoreOptions, azureStoreOptions } from './azure-store-options.ts';

export const azureDriver = {
  type: 'azure',
  options: azureStoreOptions,
  shown: ['container', 'account', 'prefix', 'endpoint'],
  geowebcacheName: 'AzureBlobStore',
  ...packDriver<AzureStoreOptions>(async () => (await import('./azure-objects.ts')).openAzureObjects),
} as const;
