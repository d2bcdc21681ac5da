import { messageKind } from '../lib/channel.ts';
import type { CatalogEntry } from './catalog-entries.ts';

/** From the server to its processes: something has been declared, changed or removed. */
export const CATALOG_CHANGED = messageKind('catalog-changed');
/** From a process without a database: what has changed after a version. */
export const CATALOG_NEWS = messageKind<
  { readonly version: number; readonly limit: number },
  readonly CatalogEntry[]
>('catalog-news');
