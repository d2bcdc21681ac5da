import { z } from 'zod';
import { text } from '../../lib/schemas.ts';
import { packStoreOptions } from '../objects/pack-store-options.ts';

export const azureStoreOptions = z
  .strictObject({
    type: z.literal('azure'),
    container: z.string().min(3).max(63).describe('An existing container; the server does not create it'),
    account: text.optional().describe('Name of the storage account; needs key'),
    key: text.optional().describe('Access key of the account'),
    connectionString: text.optional().describe('Instead of account and key: a key or a SAS, and the address'),
    endpoint: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Address of the blob service; https://ACCOUNT.blob.core.windows.net when left out'),
    ...packStoreOptions,
  })
  .refine(({ account, key }) => (account === undefined) === (key === undefined), {
    error: 'account and key go together',
  })
  .refine(({ account, connectionString }) => (account === undefined) !== (connectionString === undefined), {
    error: 'needs either account and key, or connectionString',
  })
  .refine(({ endpoint, connectionString }) => endpoint === undefined || connectionString === undefined, {
    error: 'connectionString contains the endpoint; leave endpoint out',
  })
  .describe(
    'Keeps tiles in an Azure blob container that several machines share, and lists them in PostgreSQL.',
  );

export type AzureStoreOptions = z.infer<typeof azureStoreOptions>;
