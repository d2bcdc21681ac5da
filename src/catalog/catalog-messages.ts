import { messageKind } from '../lib/channel.ts';
import type { CatalogEntry } from './catalog-entries.ts';

/**
 * From the server to its processes: something has been declared, changed or removed. With the settings as plain data when
 * the configuration file was read again; null otherwise.
 */
export const CATALOG_CHANGED = messageKind<unknown>('catalog-changed');
/** From a process without a database: what has changed after a version. */
export const CATALOG_NEWS = messageKind<
  { readonly version: number; readonly limit: number },
  readonly CatalogEntry[]
>('catalog-news');
