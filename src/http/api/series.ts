import { z } from 'zod';
import { type Clock, isoTime } from '../../lib/clock.ts';
import type { EvictedHour } from '../../quota/evictions.ts';
import type { TileBatch } from '../metrics/tile-counts.ts';
import { time } from './values.ts';

const MINUTE_MS = 60_000;
const MINUTES = 1440;

const FIELDS = ['hits', 'misses', 'stale', 'bypassed', 'failed', 'bytes', 'missMilliseconds'] as const;
type Field = (typeof FIELDS)[number];

const column = z.array(z.number());
export const seriesResponse = z.object({
  from: time,
  stepSeconds: z.number(),
  ...(Object.fromEntries(FIELDS.map((field) => [field, column])) as Record<Field, typeof column>),
  missMilliseconds: column.describe('Total of all misses of the step'),
  evictedTiles: column,
  evictedBytes: column,
});

/** Counts of tile responses, for each minute of the last day; 100 KB in all. */
export function createTrafficSeries(clock: Clock) {
  const rings = new Map<Field, Float64Array>(FIELDS.map((field) => [field, new Float64Array(MINUTES)]));
  const ringOf = (field: Field) => rings.get(field) ?? new Float64Array(MINUTES);
  /** Minutes since 1970, NaN before the first count: the first, and the current one. */
  let begun = Number.NaN;
  let minute = Number.NaN;

  function add(field: Field, amount: number): void {
    const ring = ringOf(field);
    ring[minute % MINUTES] = (ring[minute % MINUTES] ?? 0) + amount;
  }

  /** Moves on to the current minute, and clears those since the last call. It needs no timer. */
  function advance(): void {
    const now = Math.floor(clock.now() / MINUTE_MS);
    if (Number.isNaN(minute)) [begun, minute] = [now, now];
    if (now <= minute) return;
    const first = Math.max(minute + 1, now - MINUTES + 1);
    for (let at = first; at <= now; at++) for (const ring of rings.values()) ring[at % MINUTES] = 0;
    minute = now;
  }

  return {
    add(batch: TileBatch): void {
      advance();
      add('hits', batch.HIT);
      add('misses', batch.MISS);
      add('stale', batch.STALE);
      add('bypassed', batch.BYPASS);
      add('bytes', batch.bytes);
      add('missMilliseconds', batch.missMilliseconds);
      for (const [code, count] of batch.failures) if (!NOT_FAILURES.has(code)) add('failed', count);
    },

    /** One value for each minute; the last is the current one. */
    document(): SeriesDocument {
      advance();
      const length = Math.min(MINUTES, minute - begun + 1);
      const first = minute - length + 1;
      const inOrder = (ring: Float64Array) =>
        Array.from({ length }, (_, place) => Math.round(ring[(first + place) % MINUTES] ?? 0));
      const columns = FIELDS.map((field) => [field, inOrder(ringOf(field))] as const);
      return {
        from: isoTime(first * MINUTE_MS),
        stepSeconds: MINUTE_MS / 1000,
        ...(Object.fromEntries(columns) as Record<Field, number[]>),
      };
    },
  };
}

export type SeriesDocument = Omit<z.infer<typeof seriesResponse>, 'evictedTiles' | 'evictedBytes'>;

/** Sums the series of all processes. */
export function mergeSeries(documents: readonly SeriesDocument[]): SeriesDocument {
  const minuteOf = ({ from }: SeriesDocument) => Date.parse(from) / MINUTE_MS;
  const end = Math.max(...documents.map((document) => minuteOf(document) + document.hits.length));
  const begin = Math.max(end - MINUTES, Math.min(...documents.map(minuteOf)));
  const columnOf = (field: Field) =>
    Array.from({ length: end - begin }, (_, at) => {
      const values = documents.map((document) => document[field][begin + at - minuteOf(document)] ?? 0);
      return values.reduce((sum, value) => sum + value, 0);
    });
  return {
    from: isoTime(begin * MINUTE_MS),
    stepSeconds: MINUTE_MS / 1000,
    ...(Object.fromEntries(FIELDS.map((field) => [field, columnOf(field)])) as Record<Field, number[]>),
  };
}

/** Adds the evictions by all processes and nodes, which only the database has with their times. */
export function addEvictions(series: SeriesDocument, evicted: readonly EvictedHour[]) {
  const [evictedTiles, evictedBytes] = [series.hits.map(() => 0), series.hits.map(() => 0)];
  for (const { at, tiles, bytes } of evicted) {
    const place = Math.floor((at - Date.parse(series.from)) / MINUTE_MS);
    if (place >= evictedTiles.length) continue;
    evictedTiles[place] = (evictedTiles[place] ?? 0) + tiles;
    evictedBytes[place] = (evictedBytes[place] ?? 0) + bytes;
  }
  return { ...series, evictedTiles, evictedBytes };
}

/** Not failures of the server: the client left, or the tile does not exist or is not made for clients. */
const NOT_FAILURES: ReadonlySet<string> = new Set(['caller-gone', 'tile-outside', 'tile-not-cached']);
