import type { SourceDriver } from '../source-driver.ts';
import { openWorldSource } from './world-source.ts';
import { type WorldSourceOptions, worldSourceOptions } from './world-source-options.ts';

export const worldDriver = {
  type: 'world',
  options: worldSourceOptions,
  shown: [],
  connection: [],
  pictures: 'drawn',
  passesCredentials: false,
  queryable: false,
  open: openWorldSource,
} as const satisfies SourceDriver<WorldSourceOptions>;
