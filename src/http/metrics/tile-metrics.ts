import type { CountedEvent, PipelineCount } from '../../pipeline/pipeline-counters.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { Family, MetricSheet } from './metric-sheet.ts';
import type { TileCountSeries } from './tile-counts.ts';

export interface TileMetricsSources {
  readonly tileCounts: { series(): Iterable<TileCountSeries> };
  readonly pipeline: Pick<TilePipeline, 'status'>;
  /** Of all processes of the server. */
  readonly pipelineCounts: { all(): readonly CountedEvent[] };
}

/** Requests, and the road they take when there is no tile yet. */
export function addTileMetrics(sheet: MetricSheet, sources: TileMetricsSources): void {
  const requests = sheet.counter(
    'tilewarden_tile_requests_total',
    'Tile requests by layer and outcome: hit, miss, stale, bypass, or the code of the failure',
    ['layer', 'outcome'],
  );
  sheet.onLook(() => {
    for (const { layer, outcome, count } of sources.tileCounts.series())
      requests.set(count, { layer, outcome });
  });
  addStatus(sheet, sources);
  addRoadEvents(sheet, sources);
}

function addStatus(sheet: MetricSheet, { pipeline }: TileMetricsSources): void {
  const flights = sheet.gauge('tilewarden_flights', 'Metatiles being fetched, cut or stored now');
  const waiting = sheet.gauge('tilewarden_waiting_reads', 'Tile requests that wait for a source now');
  const tierBytes = sheet.gauge('tilewarden_memory_tier_bytes', 'Tiles held in memory');
  const tierTiles = sheet.gauge('tilewarden_memory_tier_tiles', 'Tiles held in memory');
  sheet.onLook(() => {
    const status = pipeline.status();
    flights.set(status.flights);
    waiting.set(status.waitingReads);
    tierBytes.set(status.memoryTierBytes);
    tierTiles.set(status.memoryTierTiles);
  });
}

function addRoadEvents(sheet: MetricSheet, { pipelineCounts }: TileMetricsSources): void {
  const byLayer = (name: string, help: string) => sheet.counter(`tilewarden_${name}_total`, help, ['layer']);
  const byReason = (name: string, help: string) =>
    sheet.counter(`tilewarden_${name}_total`, help, ['layer', 'reason']);
  const families = new Map<PipelineCount, Family>([
    ['flight-started', byLayer('flights_started', 'Metatiles that were set out for')],
    ['flight-joined', byLayer('flights_joined', 'Requests that joined a flight under way')],
    ['flight-abandoned', byLayer('flights_abandoned', 'Flights given up because everybody had left')],
    ['flight-failed', byReason('flights_failed', 'Flights that failed')],
    ['answer-refused', byReason('gate_refusals', 'Answers of sources that were kept out of the cache')],
    [
      'blank-suspected',
      byLayer('blanks_suspected', 'Empty pictures beside others that are not, kept briefly'),
    ],
    ['failure-repeated', byReason('failures_repeated', 'Requests answered with the failure of a moment ago')],
    ['read-refused', byLayer('reads_refused', 'Requests refused because too many wait')],
    ['tile-adopted', byLayer('tiles_adopted', 'Tiles read from the cache that a layer has adopted')],
    ['store-read-failed', byReason('store_read_failures', 'Tiles that could not be read from their store')],
  ]);
  const withoutReason = new Set<PipelineCount>([
    'flight-started',
    'flight-joined',
    'flight-abandoned',
    'blank-suspected',
    'read-refused',
    'tile-adopted',
  ]);
  sheet.onLook(() => {
    for (const { what, layer, reason, count } of pipelineCounts.all()) {
      families.get(what)?.set(count, withoutReason.has(what) ? { layer } : { layer, reason: reason ?? '' });
    }
  });
}
