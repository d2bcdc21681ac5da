import { CONNECTION_OPTIONS } from '../http-options.ts';
import type { SourceDriver } from '../source-driver.ts';
import { archiveOffers, openArchiveSource } from './archive-source.ts';
import { type ArchiveSourceOptions, archiveSourceOptions } from './archive-source-options.ts';

export const archiveDriver = {
  type: 'archive',
  options: archiveSourceOptions,
  shown: ['url', 'path'],
  connection: CONNECTION_OPTIONS,
  pictures: 'ready-made',
  passesCredentials: false,
  queryable: false,
  offers: archiveOffers,
  fileOption: ({ path }) => (path === undefined ? null : 'path'),
  open: openArchiveSource,
} as const satisfies SourceDriver<ArchiveSourceOptions>;
