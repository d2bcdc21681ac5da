import { z } from 'zod';
import { flag, text } from '../../lib/schemas.ts';
import { objectOptions, packStoreOptions } from '../objects/pack-store-options.ts';

const location = {
  type: z.literal('s3'),
  bucket: z.string().min(3).max(63).describe('An existing bucket; the server does not create it'),
  endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('For stores other than Amazon, e.g. http://127.0.0.1:7480'),
  region: text.default('us-east-1').describe('Region of the bucket; many stores take any'),
  pathStyle: flag.describe(
    'Put the bucket into the path of addresses and not into the host name; Ceph and MinIO often want it',
  ),
  accessKeyId: text.optional().describe('Without keys the credentials chain of the AWS SDK is asked'),
  secretAccessKey: text.optional(),
};

type Keys = { readonly [Key in 'accessKeyId' | 'secretAccessKey']?: string | undefined };

function withBothKeys<Schema extends z.ZodType<Keys>>(schema: Schema): Schema {
  return schema.refine(
    (options) => (options.accessKeyId === undefined) === (options.secretAccessKey === undefined),
    {
      error: 'accessKeyId and secretAccessKey go together',
    },
  );
}

export const s3BucketOptions = withBothKeys(z.strictObject({ ...location, ...objectOptions }));

export const s3StoreOptions = withBothKeys(z.strictObject({ ...location, ...packStoreOptions })).describe(
  'Keeps tiles in an S3 object store that several machines share, and lists them in PostgreSQL.',
);

export type S3BucketOptions = z.infer<typeof s3BucketOptions>;
export type S3StoreOptions = z.infer<typeof s3StoreOptions>;
