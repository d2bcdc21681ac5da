import { join } from 'node:path';
import type { BoundLayer } from '../../src/catalog/bound-layer.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { formatOf } from '../../src/domain/format.ts';
import { createGridSet } from '../../src/domain/grid-set.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { openTilePipeline } from '../../src/pipeline/open-tile-pipeline.ts';
import { openUpstreamClient } from '../../src/sources/upstream/upstream-client.ts';
import { openWmsSource } from '../../src/sources/wms/wms-source.ts';
import { wmsSourceOptions } from '../../src/sources/wms/wms-source-options.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';

export const LAYER = 'faulty';
export const TILE_SIZE = 64;
export const MAX_ZOOM = 6;
const WORLD = 20037508.342789244;

/** The parts of a server that tasks need, over real files and a real WMS; one for the server, one for each worker. */
export async function openFaultHouse(folder: string, wmsUrl: string) {
  const log = createLogger({ level: 'error', pretty: false });
  const surroundings = { clock: systemClock, random: systemRandom, log };
  const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...surroundings });
  const root = join(folder, 'tiles');
  const store = await openBundleStore(bundleStoreOptions.parse({ type: 'bundle' }), {
    root,
    ...surroundings,
  });
  const upstream = openUpstreamClient({
    userAgent: 'Tilewarden/test',
    upstreams: { [new URL(wmsUrl).host]: { concurrency: 8, ratePerSecond: null, allowPrivate: true } },
    ...surroundings,
  });
  const options = wmsSourceOptions.parse({ type: 'wms', url: wmsUrl, layers: 'a' });
  const source = openWmsSource(options, { upstream });
  const events = createTileEvents();
  const pipeline = openTilePipeline({ events, ...surroundings, settings: { memoryTierBytes: 0 } });
  const bound: BoundLayer = { layer: createFaultyLayer(), store, source: () => source };
  const catalog = { layer: (name: string) => (name === LAYER ? bound : null) };
  return {
    ...surroundings,
    database,
    store,
    events,
    pipeline,
    catalog,
    bound,
    async close() {
      await pipeline.close();
      await source.close();
      await upstream.close();
      await store.close();
      await database.close();
    },
  };
}

function createFaultyLayer(): BoundLayer['layer'] {
  const png = formatOf('image/png');
  if (!png) throw new Error('no PNG');
  const gridSet = createGridSet({
    name: 'small-tiles',
    srs: 3857,
    extent: { minX: -WORLD, minY: -WORLD, maxX: WORLD, maxY: WORLD },
    levels: MAX_ZOOM + 1,
    tileWidth: TILE_SIZE,
    tileHeight: TILE_SIZE,
  });
  return {
    name: LAYER,
    title: LAYER,
    description: '',
    formats: [png],
    gridSubsets: [createGridSubset(gridSet)],
    metatile: { columns: 4, rows: 4 },
    gutter: 0,
    parameters: [],
    expireCacheSeconds: null,
    expireClientsSeconds: 0,
    access: 'public',
  };
}
