/** Fails on purpose, once in every kind of suite: see test/test-status.test.ts. */
import { expect, it } from 'vitest';
import { startServer } from '../e2e/server.ts';
import {
  createPostgresDatabase,
  sharedAzure,
  sharedBrowser,
  sharedMapServer,
  sharedS3,
} from '../fixtures/shared-services.ts';

it.each([
  ['nothing', async () => 'nothing'],
  ['PostgreSQL', createPostgresDatabase],
  ['S3', sharedS3],
  ['Azurite', sharedAzure],
  ['MapServer', sharedMapServer],
  ['a browser', sharedBrowser],
  ['a server', startServer],
])('a test with %s fails', async (_, open) => {
  await open();
  expect.unreachable('on purpose');
});
