import { double, leaf, nodeOf } from '../../geowebcache/document-node.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { PipelineStatus } from '../../pipeline/tile-pipeline.ts';
import type { Exchange } from '../exchange.ts';
import type { TileCountSeries } from '../metrics/tile-counts.ts';
import type { Route } from '../route.ts';
import { documentAnswer, resourceRoutes } from './representation.ts';

export interface StatisticsDeps {
  readonly tileCounts: { series(): Iterable<TileCountSeries> };
  readonly status: () => PipelineStatus;
  readonly memoryTierBytes: number;
}

/** `/rest/statistics`: how tiles were answered since the start, and how full the memory in front of the stores is. */
export function statisticsRoutes(deps: StatisticsDeps): readonly Route[] {
  return resourceRoutes({
    path: '/rest/statistics',
    role: () => 'viewer',
    what: 'how tiles were answered',
    handlers: { GET: show },
  });

  function show(_: Exchange, format: DocumentFormat) {
    const { hits, misses } = countsOf(deps.tileCounts);
    const { memoryTierBytes: used } = deps.status();
    const total = hits + misses;
    const share = (count: number) => (total === 0 ? 0 : (100 * count) / total);
    const occupied = deps.memoryTierBytes === 0 ? 0 : (100 * used) / deps.memoryTierBytes;
    return documentAnswer(
      nodeOf('gwcInMemoryCacheStatistics', [
        leaf('hitCount', hits),
        leaf('missCount', misses),
        leaf('totalCount', total),
        double('hitRate', share(hits)),
        double('missRate', share(misses)),
        double('currentMemoryOccupation', occupied),
        leaf('totalSize', deps.memoryTierBytes),
        leaf('actualSize', used),
      ]),
      format,
    );
  }
}

/** What was there, stale or not, and what had to be made; failures are neither. */
function countsOf({ series }: StatisticsDeps['tileCounts']): {
  readonly hits: number;
  readonly misses: number;
} {
  let [hits, misses] = [0, 0];
  for (const { outcome, count } of series()) {
    if (outcome === 'hit' || outcome === 'stale') hits += count;
    if (outcome === 'miss' || outcome === 'bypass') misses += count;
  }
  return { hits, misses };
}
