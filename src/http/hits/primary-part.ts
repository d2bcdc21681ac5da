import type { ReaderKeys } from '../../access/open-reader-keys.ts';
import { boundLayer, type Catalog } from '../../catalog/catalog.ts';
import type { CatalogEntries } from '../../catalog/catalog-entries.ts';
import type { TileEvents } from '../../domain/tile-events.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Access } from '../auth/access.ts';
import type { TileBatch } from '../metrics/tile-counts.ts';
import type { HttpProcesses, PrimaryPart } from './http-processes.ts';

export interface PrimaryPartDeps {
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly entries: Pick<CatalogEntries, 'after'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  readonly events: TileEvents;
  readonly access: Access;
  readonly keys: PrimaryPart['keys'] & Pick<ReaderKeys, 'used'>;
  readonly count: (batches: readonly TileBatch[]) => void;
}

/** The primary's part, called by the HTTP processes. They count the tiles that it makes for them. */
export function primaryPart({
  catalog,
  entries,
  pipeline,
  events,
  access,
  keys,
  count,
}: PrimaryPartDeps): PrimaryPart {
  return {
    async readTile({ set, parameters, tile, bypass, authorization }, signal) {
      const names = { gridSet: set.gridSet, format: set.format, parameters };
      const tiles = resolveTileSet(boundLayer(catalog, set.layer), names);
      return pipeline.read({ ...tiles, ...(bypass && { bypass }), authorization }, tile, signal);
    },
    authenticate: (credentials) => access.authenticate(credentials),
    catalogChanges: (version, limit) => entries.after(version, limit),
    keys,
    counted({ tiles, pages, keys: uses }) {
      count(tiles);
      keys.used(uses);
      for (const page of pages) events.emit({ type: 'served', ...page });
    },
  };
}

/** The same pipeline; other processes forget what it forgets, replaces or removes. */
export function forgetEverywhere(
  pipeline: TilePipeline,
  events: TileEvents,
  processes: Pick<HttpProcesses, 'forget'>,
): TilePipeline {
  const unsubscribe = events.subscribe((event) => {
    if (event.type === 'layer-dropped') processes.forget({ layer: event.layer });
    if (event.type !== 'stored' && event.type !== 'deleted') return;
    processes.forget({ set: event.set, z: event.z, rect: event.rect });
  });
  return {
    read: (tiles, tile, signal) => pipeline.read(tiles, tile, signal),
    renew: (request) => pipeline.renew(request),
    forget(set, z, rect) {
      pipeline.forget(set, z, rect);
      processes.forget({ set, z, rect });
    },
    forgetLayer(layer) {
      pipeline.forgetLayer(layer);
      processes.forget({ layer });
    },
    forgetPlaces(layer, places, above) {
      pipeline.forgetPlaces(layer, places, above);
      processes.forget(places ? { layer, places } : { layer });
    },
    changedElsewhere: (change) => pipeline.changedElsewhere(change),
    guardCopies: (guard) => pipeline.guardCopies(guard),
    guardCredentials: (isOwn) => pipeline.guardCredentials(isOwn),
    status: () => pipeline.status(),
    async close() {
      unsubscribe();
      await pipeline.close();
    },
  };
}
