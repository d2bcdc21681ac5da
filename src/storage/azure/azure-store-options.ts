import { z } from 'zod';
import { text } from '../../lib/schemas.ts';
import { objectOptions, packStoreOptions } from '../objects/pack-store-options.ts';

const location = {
  type: z.literal('azure'),
  container: z.string().min(3).max(63).describe('An existing container; the server does not create it'),
  account: text.optional().describe('Name of the storage account; needs key'),
  key: text.optional().describe('Access key of the account'),
  connectionString: text.optional().describe('Instead of account and key: a key or a SAS, and the address'),
  endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Address of the blob service; https://ACCOUNT.blob.core.windows.net when left out'),
};

type Credentials = {
  readonly [Key in 'account' | 'key' | 'connectionString' | 'endpoint']?: string | undefined;
};

function withCredentials<Schema extends z.ZodType<Credentials>>(schema: Schema): Schema {
  return schema
    .refine(({ account, key }) => (account === undefined) === (key === undefined), {
      error: 'account and key go together',
    })
    .refine(({ account, connectionString }) => (account === undefined) !== (connectionString === undefined), {
      error: 'needs either account and key, or connectionString',
    })
    .refine(({ endpoint, connectionString }) => endpoint === undefined || connectionString === undefined, {
      error: 'connectionString contains the endpoint; leave endpoint out',
    });
}

export const azureBucketOptions = withCredentials(z.strictObject({ ...location, ...objectOptions }));

export const azureStoreOptions = withCredentials(
  z.strictObject({ ...location, ...packStoreOptions }),
).describe(
  'Keeps tiles in an Azure blob container that several machines share, and lists them in PostgreSQL.',
);

export type AzureBucketOptions = z.infer<typeof azureBucketOptions>;
export type AzureStoreOptions = z.infer<typeof azureStoreOptions>;
