import { realpath, stat } from 'node:fs/promises';
import { gridSetNames } from '../catalog/create-layer.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { openMbtilesFile } from '../sources/archive/mbtiles.ts';
import type { Adoption } from '../storage/adopted/adopt-options.ts';
import { openCompactCache } from '../storage/adopted/open-compact-cache.ts';
import { openMapProxySqlite } from '../storage/adopted/open-level-files.ts';
import { type OldCacheOwner, openOldFolder } from '../storage/adopted/open-old-folder.ts';
import { openOldGeopackage } from '../storage/adopted/open-old-geopackage.ts';
import { refuseElsewhere } from '../storage/adopted/rooted-folder.ts';
import { tileThere } from '../storage/adopted/tile-there.ts';
import type { OldCache } from '../storage/old-cache.ts';

type Adopter = Pick<LayerDeclaration, 'name' | 'gridSets' | 'adopt'>;

/** All that a layer adopts, looked through in its order. */
export function openOldCache(adopter: Adopter, clock: Clock): OldCache {
  const owner = { layer: adopter.name, gridSet: gridSetNames(adopter)[0] ?? '' };
  const caches = adopter.adopt.map((adopted) => openAdopted(adopted, owner, clock));
  return {
    async read(asked) {
      for (const cache of caches) {
        const found = await cache.read(asked);
        if (found) return found;
      }
      return null;
    },
    async close() {
      await Promise.all(caches.map((cache) => cache.close()));
    },
  };
}

function openAdopted(adopted: Adoption, owner: OldCacheOwner, clock: Clock): OldCache {
  if (adopted.layout === 'mbtiles') return openOldFile(adopted, adopted.gridSet ?? owner.gridSet, clock);
  if (adopted.layout === 'geopackage') return openOldGeopackage(adopted, owner, clock);
  if (adopted.layout === 'mapproxy-sqlite') return openMapProxySqlite(adopted, owner, clock);
  if (adopted.layout === 'arcgis-compact') return openCompactCache(adopted, owner);
  return openOldFolder(adopted, owner);
}

const NEVER = new AbortController().signal;

function openOldFile(
  { file, within, origin }: Extract<Adoption, { layout: 'mbtiles' }>,
  gridSetName: string,
  clock: Clock,
): OldCache {
  const archive = openMbtilesFile(file, clock);
  let changedAt: number | null = null;
  return {
    async read(asked) {
      const tile = tileThere(asked, { gridSet: gridSetName, origin });
      if (!tile) return null;
      try {
        changedAt ??= await whenChanged(file, within);
        const found = await archive.tile(tile.z, tile.x, tile.y, { priority: 'interactive', signal: NEVER });
        return found && { bytes: found.bytes, changedAt };
      } catch (cause) {
        throw new TilewardenError('store-failed', 'An adopted file could not be read.', { cause });
      }
    },
    close: () => archive.close(),
  };
}

/** Milliseconds since 1970; its tiles have no times of their own. */
async function whenChanged(file: string, within: Adoption['within']): Promise<number> {
  await refuseElsewhere(await realpath(file), within);
  return (await stat(file)).mtimeMs;
}
