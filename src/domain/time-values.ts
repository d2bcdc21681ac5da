import { misconfigured, shortened } from './errors.ts';
import {
  addPeriod,
  LAST_INSTANT,
  type Period,
  type Precision,
  precisionWith,
  printInstant,
  readInstant,
  readPeriod,
} from './iso-time.ts';

/** The instants of a time parameter: they change while the layer stays the same. */
export interface TimeDimension {
  /** Whether a value that is not listed means the nearest one. */
  readonly nearest: boolean;
  /** Whether the default moves on with the listed instants. */
  readonly followsLatest: boolean;
  /** Whether tiles of instants that are no longer listed are removed. */
  readonly keepsWindow: boolean;
  /** As capabilities write them: intervals by their ends. */
  listed(): readonly string[];
  /** Null: none is listed. */
  summary(): TimeSummary | null;
  /** Whether a tile set with this value is still listed. */
  includes(value: string): boolean;
  /** The text of a `Warning` header; null: the value is the requested one. */
  noteFor(requested: string, value: string): string | null;
}

interface TimeSummary {
  readonly default: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

/** Instants one period apart, never listed one by one; a single instant has no period. */
interface TimeSpan {
  readonly start: number;
  /** Null: now. */
  readonly end: number | null;
  readonly period: Period | null;
  readonly precision: Precision;
}

/** Entries of a list; intervals have any number of instants. */
export const MAX_TIME_ENTRIES = 20_000;
const NOW: ReadonlySet<string> = new Set(['now', 'present', 'current']);
/** Milliseconds, on average. */
const MONTH = 2_629_746_000;

/** Instants that are listed at a time: from `since` on, up to `now` where an interval is open. */
export interface TimeView {
  readonly since: number;
  readonly now: number;
}

export type TimeValues = ReturnType<typeof createTimeValues>;

/** Throws `config-invalid` with the entry. `entries`: instants and intervals `start/end/period`, also joined by commas. */
export function readTimeValues(entries: readonly string[]): TimeValues {
  const texts = entries.flatMap((entry) => entry.split(',', MAX_TIME_ENTRIES + 1));
  if (texts.length > MAX_TIME_ENTRIES) {
    throw misconfigured(`A list of times has at most ${MAX_TIME_ENTRIES} entries; write intervals.`);
  }
  return createTimeValues(texts.map(readSpan));
}

function readSpan(text: string): TimeSpan {
  const [first = '', last, step, ...more] = text.split('/', 4);
  const start = readInstant(first);
  if (last === undefined && start) return { ...start, start: start.at, end: start.at, period: null };
  const period = step === undefined ? null : readPeriod(step);
  const isOpen = NOW.has(last?.trim().toLowerCase() ?? '');
  const end = isOpen ? null : (readInstant(last ?? '')?.at ?? Number.NaN);
  if (start && period && more.length === 0 && (end === null || end >= start.at)) {
    return { start: start.at, end, period, precision: precisionWith(start.precision, period) };
  }
  throw misconfigured(
    `${shortened(text)} must be a time such as 2026-01-01T00:00:00Z, or an interval such as 2026-01-01/2026-12-31/P1D that may end now.`,
  );
}

function createTimeValues(spans: readonly TimeSpan[]) {
  const intervals = spans.filter(({ period }) => period !== null);
  const single = spans.filter(({ period }) => period === null).sort((a, b) => a.start - b.start);
  const instants = single.filter(({ start }, at) => start !== single[at - 1]?.start);

  /** Of single instants: how many come before. */
  function countBefore(time: number): number {
    let [low, high] = [0, instants.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((instants[middle]?.start ?? 0) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Instants around a time, of each span at most two. */
  function* around(time: number, view: TimeView): Generator<ListedTime> {
    const place = countBefore(time);
    for (const span of instants.slice(Math.max(0, place - 1), place + 1)) {
      if (span.start >= view.since) yield { at: span.start, precision: span.precision };
    }
    for (const span of intervals) {
      const [first, last] = indexesIn(span, view);
      const before = Math.min(Math.max(indexAt(span, time), first), last);
      for (const index of before < first ? [] : [before, Math.min(before + 1, last)]) {
        yield { at: timeAt(span, index), precision: span.precision };
      }
    }
    const oldest = instants[countBefore(view.since)];
    if (oldest) yield { at: oldest.start, precision: oldest.precision };
  }

  return {
    /** Null: there are none. The earlier of two. `wanted` may be infinite. */
    nearest(wanted: number, view: TimeView): ListedTime | null {
      const time = Math.min(Math.max(wanted, -LAST_INSTANT), LAST_INSTANT);
      let best: ListedTime | null = null;
      for (const one of around(time, view)) {
        const distance = best ? Math.abs(one.at - time) - Math.abs(best.at - time) : -1;
        if (!best || distance < 0 || (distance === 0 && one.at < best.at)) best = one;
      }
      return best;
    },
    count(view: TimeView): number {
      const listed = intervals.map((span) => indexesIn(span, view));
      const within = listed.reduce((sum, [first, last]) => sum + Math.max(0, last - first + 1), 0);
      return within + instants.length - countBefore(view.since);
    },
    /** As capabilities write them: intervals by their ends. */
    *listed(view: TimeView): Generator<string> {
      for (const { start, precision } of instants.slice(countBefore(view.since))) {
        yield printInstant(start, precision);
      }
      for (const span of intervals) {
        const [first, last] = indexesIn(span, view);
        const ends = [first, last].map((index) => printInstant(timeAt(span, index), span.precision));
        if (first <= last) yield first === last ? (ends[0] ?? '') : [...ends, span.period?.text].join('/');
      }
    },
  };
}

interface ListedTime {
  readonly at: number;
  readonly precision: Precision;
}

function timeAt({ start, period }: TimeSpan, index: number): number {
  return period ? addPeriod(start, period, index) : start;
}

/** Of the last instant up to a time; -1: there is none. Months differ: the estimate is off by some. */
function indexAt(span: TimeSpan, time: number): number {
  const { start, period } = span;
  if (!period || time < start) return -1;
  const step = period.months * MONTH + period.span;
  let index = Math.max(0, Math.floor((Math.min(time, LAST_INSTANT) - start) / step));
  while (timeAt(span, index) > time) index--;
  while (timeAt(span, index + 1) <= Math.min(time, LAST_INSTANT)) index++;
  return index;
}

/** The first is greater than the last where none is listed. */
function indexesIn(span: TimeSpan, { since, now }: TimeView): readonly [first: number, last: number] {
  const last = indexAt(span, span.end ?? now);
  const before = indexAt(span, since);
  return [before >= 0 && timeAt(span, before) === since ? before : before + 1, last];
}
