import { z } from 'zod';
import { flag, sizeSchema, text, whole } from '../../lib/schemas.ts';

export const s3StoreOptions = z
  .strictObject({
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
    prefix: z
      .string()
      .max(256)
      .regex(/^([A-Za-z0-9._-]+\/)*$/, {
        error: "must be '' or names that each end with a slash, e.g. tiles/",
      })
      .default('')
      .describe('What the keys of all objects begin with'),
    accessKeyId: text.optional().describe('Without keys the credentials chain of the AWS SDK is asked'),
    secretAccessKey: text.optional(),
    timeoutSeconds: z.number().min(0.1).max(300).default(5).describe('How long one request may take'),
    connections: whole(1, 1024).default(50).describe('Requests to the store at once'),
    cache: z
      .strictObject({ size: sizeSchema })
      .optional()
      .describe('Keeps copies of tiles on the disk of this machine, the most recently used up to this size'),
    sweepRequestsPerSecond: z
      .number()
      .positive()
      .default(10)
      .describe('Requests that remove unused objects; each removes up to 1,000'),
  })
  .refine((options) => (options.accessKeyId === undefined) === (options.secretAccessKey === undefined), {
    error: 'accessKeyId and secretAccessKey go together',
  })
  .describe('Keeps tiles in an S3 object store that several machines share, and lists them in PostgreSQL.');

export type S3StoreOptions = z.infer<typeof s3StoreOptions>;
