import { createPace } from '../lib/yielding.ts';
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
  /** Changes whenever other instants are listed, but for the passage of time. */
  readonly revision: number;
  /** Null: new instants are listed without a seed. */
  readonly seed: TimeSeed | null;
  /** As capabilities write them: intervals by their ends. */
  listed(): readonly string[];
  /** Null: none is listed. */
  summary(): TimeSummary | null;
  /** The last listed instants, in their order. */
  latest(count: number): readonly string[];
  /** The latest instants that are not listed before they are seeded, in their order. */
  coming(): readonly SeededTime[];
  /** The last one, listed or not. */
  last(): SeededTime | null;
  /** Null: no instant waits for its seed. */
  seededUntil(): number | null;
  /** Whether a tile set with this value is listed, or will be. */
  includes(value: string): boolean;
  /** Whether this instant is earlier than the window. */
  isFormer(value: string): boolean;
  /** The text of a `Warning` header; null: the value is the requested one. */
  noteFor(requested: string, value: string): string | null;
}

interface TimeSummary {
  readonly default: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

export interface TimeSeed {
  /** Number of the latest instants to seed. */
  readonly latest: number;
  readonly zoomStop: number;
}

export interface SeededTime {
  readonly at: number;
  readonly text: string;
}

/** Instants one period apart, never listed one by one; a single instant has no period. */
interface TimeSpan {
  readonly start: number;
  /** Null: now. */
  readonly end: number | null;
  readonly period: Period | null;
  readonly precision: Precision;
  /** In its shortest form. */
  readonly text: string;
}

/** Entries of a declared list; intervals have any number of instants. */
export const MAX_TIME_ENTRIES = 20_000;
/** Entries of a list that a source gives. */
export const MAX_LISTED_TIMES = 100_000;
/** Limit of intervals: each request reads all of them. */
const MAX_INTERVALS = 1000;
/** Entries that are read in one turn of the event loop. */
const ENTRIES_PER_TURN = 2000;
const NOW: ReadonlySet<string> = new Set(['now', 'present', 'current']);
/** Milliseconds, on average. */
const MONTH = 2_629_746_000;

/** Instants that are listed at a time: from `since` to `until`, and up to `now` where an interval is open. */
export interface TimeView {
  readonly since: number;
  readonly until: number;
  readonly now: number;
}

export type TimeValues = ReturnType<typeof createTimeValues>;

/** `entries`: instants and intervals `start/end/period`, or several joined by commas. Throws `config-invalid`. */
export function readTimeValues(entries: readonly string[]): TimeValues {
  const spans = new SpanList();
  for (const text of entriesIn(entries, MAX_TIME_ENTRIES)) spans.add(readSpan(text));
  return createTimeValues(spans, [...spans.instants()]);
}

/** As `readTimeValues`, for the long list of a source. Yields to the event loop. */
export async function readListedTimes(entries: readonly string[]): Promise<TimeValues> {
  const spans = new SpanList();
  const pace = createPace(ENTRIES_PER_TURN);
  for (const text of entriesIn(entries, MAX_LISTED_TIMES)) {
    // Some servers end their list with a comma.
    if (text.trim() !== '') spans.add(readSpan(text));
    await pace(1);
  }
  const instants: TimeSpan[] = [];
  for (const instant of spans.instants()) {
    instants.push(instant);
    await pace(1);
  }
  return createTimeValues(spans, instants);
}

class SpanList {
  readonly intervals: TimeSpan[] = [];
  /** By start. */
  readonly #instants = new Map<number, TimeSpan>();

  add(span: TimeSpan): void {
    if (span.period === null) this.#instants.set(span.start, span);
    else this.intervals.push(span);
    if (this.intervals.length > MAX_INTERVALS)
      throw misconfigured(`A list of times has at most ${MAX_INTERVALS} intervals with a period.`);
  }

  /** In their order, each once. A hundred thousand numbers are sorted in one turn, objects are not. */
  *instants(): Generator<TimeSpan> {
    for (const start of Float64Array.from(this.#instants.keys()).sort()) {
      const span = this.#instants.get(start);
      if (span) yield span;
    }
  }
}

function entriesIn(entries: readonly string[], most: number): readonly string[] {
  const texts = entries.flatMap((entry) => entry.split(',', most + 1));
  if (texts.length <= most) return texts;
  throw misconfigured(`A list of times has at most ${most} entries; write intervals.`);
}

function readSpan(text: string): TimeSpan {
  const [first = '', last, step, ...more] = text.split('/', 4);
  const start = readInstant(first);
  if (last === undefined && start) {
    const { at, precision } = start;
    return { start: at, end: at, period: null, precision, text: printInstant(at, precision) };
  }
  const period = step === undefined ? null : readPeriod(step);
  const isOpen = NOW.has(last?.trim().toLowerCase() ?? '');
  const end = isOpen ? null : (readInstant(last ?? '')?.at ?? Number.NaN);
  if (start && period && more.length === 0 && (end === null || end >= start.at)) {
    const precision = precisionWith(start.precision, period);
    const until = end === null ? 'now' : printInstant(end, 'second');
    const written = [printInstant(start.at, precision), until, period.text].join('/');
    return { start: start.at, end, period, precision, text: written };
  }
  throw misconfigured(
    `${shortened(text)} must be a time such as 2026-01-01T00:00:00Z, or an interval such as 2026-01-01/2026-12-31/P1D that may end now.`,
  );
}

function createTimeValues({ intervals }: SpanList, instants: readonly TimeSpan[]) {
  /** Number of single instants before it. */
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
    const [first, end] = placesIn(view);
    const place = Math.min(Math.max(countBefore(time), first), end);
    for (const span of instants.slice(Math.max(first, place - 1), Math.min(end, place + 1))) {
      yield { at: span.start, precision: span.precision };
    }
    for (const span of intervals) {
      const [first, last] = indexesIn(span, view);
      const before = Math.min(Math.max(indexAt(span, time), first), last);
      for (const index of before < first ? [] : [before, Math.min(before + 1, last)]) {
        yield { at: timeAt(span, index), precision: span.precision };
      }
    }
  }

  /** Range of listed single instants: the first, and the one after the last. */
  function placesIn({ since, until }: TimeView): readonly [first: number, end: number] {
    const first = countBefore(since);
    return [first, Math.max(first, until === Infinity ? instants.length : countBefore(until + 1))];
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
    /** The latest first, up to a limit. */
    latest(most: number, view: TimeView): readonly ListedTime[] {
      const [first, end] = placesIn(view);
      const single = instants.slice(Math.max(first, end - most), end);
      const heads = [
        backwards(
          [0, single.length - 1],
          (index) => single[index]?.start ?? 0,
          (index) => single[index]?.precision ?? 'second',
        ),
        ...intervals.map((span) =>
          backwards(
            indexesIn(span, view),
            (index) => timeAt(span, index),
            () => span.precision,
          ),
        ),
      ].map((times) => ({ times, next: times.next().value }));
      const found: ListedTime[] = [];
      while (found.length < most) {
        const head = heads.reduce((best, one) =>
          (one.next?.at ?? -Infinity) > (best.next?.at ?? -Infinity) ? one : best,
        );
        if (!head.next) break;
        if (head.next.at !== found.at(-1)?.at) found.push(head.next);
        head.next = head.times.next().value;
      }
      return found;
    },
    count(view: TimeView): number {
      const listed = intervals.map((span) => indexesIn(span, view));
      const within = listed.reduce((sum, [first, last]) => sum + Math.max(0, last - first + 1), 0);
      const [first, end] = placesIn(view);
      return within + end - first;
    },
    /** All entries, each once, as `readTimeValues` reads them. */
    written: (): string => [...instants, ...intervals].map(({ text }) => text).join(','),
    /** As capabilities write them: intervals by their ends. */
    listed(view: TimeView, most: number): readonly string[] {
      const [first, end] = placesIn(view);
      const single = instants.slice(first, Math.min(end, first + most)).map(({ text }) => text);
      const others = intervals.slice(0, most).map((span) => listedSpan(span, view));
      return [...single, ...others.filter((text) => text !== '')].slice(0, most);
    },
  };
}

/** Empty: nothing of it is listed. */
function listedSpan(span: TimeSpan, view: TimeView): string {
  const [first, last] = indexesIn(span, view);
  if (first > last) return '';
  const ends = [first, last].map((index) => printInstant(timeAt(span, index), span.precision));
  return first === last ? (ends[0] ?? '') : [...ends, span.period?.text].join('/');
}

interface ListedTime {
  readonly at: number;
  readonly precision: Precision;
}

/** From the last one. */
function* backwards(
  [first, last]: readonly [number, number],
  atOf: (index: number) => number,
  precisionOf: (index: number) => Precision,
): Generator<ListedTime, undefined> {
  for (let index = last; index >= first; index--) yield { at: atOf(index), precision: precisionOf(index) };
}

function timeAt({ start, period }: TimeSpan, index: number): number {
  return period ? addPeriod(start, period, index) : start;
}

/** Index of the last instant up to a time; -1: none. Months differ: the estimate is off by some. */
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
function indexesIn(span: TimeSpan, { since, until, now }: TimeView): readonly [first: number, last: number] {
  const last = indexAt(span, Math.min(span.end ?? now, until));
  const before = indexAt(span, since);
  return [before >= 0 && timeAt(span, before) === since ? before : before + 1, last];
}
