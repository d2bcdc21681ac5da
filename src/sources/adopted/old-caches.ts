import type { OldCache } from '../old-cache.ts';
import type { TileSource } from '../tile-source.ts';
import type { Adoption } from './adopt-options.ts';
import { openCompactCache } from './open-compact-cache.ts';
import { openSqliteCache } from './open-sqlite-cache.ts';
import { type OldCacheOwner, type OldCacheTools, openOldFolder } from './rooted-folder.ts';

/** Puts the caches that the layer adopts in front of its source. Closing the result closes both. */
export function withOldCaches(
  source: TileSource,
  adopt: readonly Adoption[],
  owner: OldCacheOwner,
  tools: OldCacheTools,
): TileSource {
  if (adopt.length === 0) return source;
  const oldCache = openOldCaches(adopt, owner, tools);
  return {
    ...source,
    oldCache,
    async close() {
      await Promise.all([source.close(), oldCache.close()]);
    },
  };
}

/** The caches are searched in order. Nothing is read before the first request. */
export function openOldCaches(
  adopt: readonly Adoption[],
  owner: OldCacheOwner,
  tools: OldCacheTools,
): OldCache {
  const caches = adopt.map((adopted) => openAdopted(adopted, owner, tools));
  return {
    async read(request) {
      for (const cache of caches) {
        const tile = await cache.read(request);
        if (tile) return tile;
      }
      return null;
    },
    async close() {
      await Promise.all(caches.map((cache) => cache.close()));
    },
  };
}

function openAdopted(adopted: Adoption, owner: OldCacheOwner, tools: OldCacheTools): OldCache {
  switch (adopted.layout) {
    case 'arcgis-compact':
      return openCompactCache(adopted, owner);
    case 'mbtiles':
    case 'mapproxy-sqlite':
    case 'mapcache-sqlite':
    case 'geopackage':
    case 'geowebcache-mbtiles':
      return openSqliteCache(adopted, owner, tools.clock);
    default:
      return openOldFolder(adopted, owner, tools);
  }
}
