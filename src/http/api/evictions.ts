import { invalid } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import type { EvictedHour } from '../../quota/evictions.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';

const HOUR_MS = 3_600_000;
const HOURS_OF_A_DAY = 24;
const USUAL_DAYS = '7';
const MOST_DAYS = 31;

/** `/api/v1/evictions`: what quotas removed, hour by hour, also before the last restart. */
export function evictionRoutes({ quota, clock }: RouteDeps): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/evictions',
      role: 'viewer',
      async handler({ query }) {
        const hours = daysIn(new URLSearchParams(query).get('days') ?? USUAL_DAYS) * HOURS_OF_A_DAY;
        const first = Math.floor(clock.now() / HOUR_MS) - hours + 1;
        return jsonAnswer(evictionDocument(await quota.evictedHours(first * HOUR_MS), first, hours));
      },
    },
  ];
}

function daysIn(text: string): number {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MOST_DAYS) return days;
  throw invalid(`days must be a whole number from 1 to ${MOST_DAYS}.`);
}

/** Columns as in `/api/v1/series`; the last hour is the one that runs. */
function evictionDocument(rows: readonly EvictedHour[], first: number, hours: number) {
  const columns = () => ({ tiles: Array<number>(hours).fill(0), bytes: Array<number>(hours).fill(0) });
  const all = columns();
  const layers = new Map<string, typeof all>();
  for (const { layer, at, tiles, bytes } of rows) {
    const place = at / HOUR_MS - first;
    const own = layers.get(layer) ?? columns();
    layers.set(layer, own);
    for (const into of [all, own]) {
      into.tiles[place] = (into.tiles[place] ?? 0) + tiles;
      into.bytes[place] = (into.bytes[place] ?? 0) + bytes;
    }
  }
  const byName = [...layers].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    from: isoTime(first * HOUR_MS),
    stepSeconds: HOUR_MS / 1000,
    ...all,
    layers: byName.map(([name, own]) => ({ name, ...own })),
  };
}
