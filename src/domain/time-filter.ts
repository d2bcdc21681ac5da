import { misconfigured, TilewardenError } from './errors.ts';
import { addPeriod, type Period, printInstant, readInstant } from './iso-time.ts';
import { checkedName, type ParameterFilter, parameterRefused } from './parameter-filter.ts';
import type { SeededTime, TimeDimension, TimeSeed, TimeValues, TimeView } from './time-values.ts';

/** The instants of a parameter, as far as they are known now. */
export interface TimeList {
  readonly values: TimeValues;
  readonly revision: number;
}

interface TimeFilterOptions {
  readonly name: string;
  /** Null: they have not been read from their source yet. */
  readonly list: () => TimeList | null;
  /** `latest`, or an instant. */
  readonly defaultValue: string;
  readonly nearest: boolean;
  /** Instants that are older than the latest, or than now, by more than this are not listed. */
  readonly keep: Period | null;
  readonly seed?: TimeSeed | null;
  /** Later instants are not listed before they are seeded; null: all are listed. */
  readonly seededUntil?: () => number | null;
  readonly now: () => number;
}

/** They all mean the default, and never name tiles. */
const DEFAULT_NAMES: ReadonlySet<string> = new Set(['', 'latest', 'current', 'default', 'now', 'present']);
const LATEST = Number.POSITIVE_INFINITY;
const SHOWN_VALUES = 10;
const RETRY_SECONDS = 5;

export function createTimeFilter(options: TimeFilterOptions): ParameterFilter {
  const { nearest, keep, list, seed = null, seededUntil = () => null } = options;
  const name = checkedName(options.name);
  const followsLatest = DEFAULT_NAMES.has(options.defaultValue.toLowerCase());
  const fixed = followsLatest ? null : readInstant(options.defaultValue);
  if (!followsLatest && !fixed) {
    throw misconfigured(`The default of parameter ${name} must be latest or a time such as 2026-01-01.`);
  }

  /** `until`: infinite with instants that are not seeded yet. */
  function viewOf(values: TimeValues, until = seededUntil() ?? LATEST): TimeView {
    const now = options.now();
    const whole = { since: Number.NEGATIVE_INFINITY, until, now };
    const last = keep && values.nearest(LATEST, whole);
    return keep && last ? { ...whole, since: addPeriod(Math.min(last.at, now), keep, -1) } : whole;
  }

  /** The nearest listed instant; null: none is listed. */
  function find(time: number, until?: number): SeededTime | null {
    const values = list()?.values;
    const found = values?.nearest(time, viewOf(values, until));
    return found ? { at: found.at, text: printInstant(found.at, found.precision) } : null;
  }

  function findExactly(time: number): SeededTime | null {
    const found = find(time) ?? null;
    const any = found?.at === time ? found : find(time, LATEST);
    return any?.at === time ? any : null;
  }

  function latest(count: number, until?: number): readonly SeededTime[] {
    const values = list()?.values;
    const found = values?.latest(count, viewOf(values, until)) ?? [];
    return found.map(({ at, precision }) => ({ at, text: printInstant(at, precision) })).reverse();
  }

  function defaultText(): string {
    return ((fixed && findExactly(fixed.at)) ?? find(LATEST))?.text ?? '';
  }

  function listed(most = Number.POSITIVE_INFINITY): readonly string[] {
    const values = list()?.values;
    return values?.listed(viewOf(values), most) ?? [];
  }

  const times: TimeDimension = {
    nearest,
    followsLatest,
    keepsWindow: keep !== null,
    seed,
    get revision() {
      return list()?.revision ?? 0;
    },
    listed: () => listed(),
    summary() {
      const values = list()?.values;
      const [first, last] = [find(Number.NEGATIVE_INFINITY), find(LATEST)];
      if (!values || !first || !last) return null;
      const count = values.count(viewOf(values));
      return { default: defaultText(), count, first: first.text, last: last.text };
    },
    latest: (count) => latest(count).map(({ text }) => text),
    coming() {
      const until = seededUntil() ?? Number.NEGATIVE_INFINITY;
      return latest(seed?.latest ?? 0, LATEST).filter(({ at }) => at > until);
    },
    last: () => find(LATEST, LATEST),
    seededUntil,
    includes: (value) => findExactly(readInstant(value)?.at ?? Number.NaN) !== null,
    isFormer(value) {
      const values = list()?.values;
      return values !== undefined && (readInstant(value)?.at ?? Number.NaN) < viewOf(values).since;
    },
    noteFor(requested, value) {
      const time = DEFAULT_NAMES.has(requested.toLowerCase()) ? null : readInstant(requested);
      if (!time || time.at === readInstant(value)?.at) return null;
      return `Nearest value used: ${name.replace(/^DIM_/, '').toLowerCase()}=${value} ISO8601`;
    },
  };

  return {
    name,
    values: null,
    times,
    get defaultValue() {
      return defaultText();
    },
    apply(value) {
      const isDefault = DEFAULT_NAMES.has(value.toLowerCase());
      const wanted = isDefault ? null : readInstant(value);
      const text = isDefault ? defaultText() : wanted && (findExactly(wanted.at)?.text ?? '');
      if (text) return text;
      if (!list()) {
        const message = `The times of parameter ${name} have not been read from their source yet.`;
        throw new TilewardenError('source-unavailable', message, { retryAfterSeconds: RETRY_SECONDS });
      }
      const found = wanted && nearest ? find(wanted.at) : null;
      if (found) return found.text;
      throw parameterRefused(name, value, listed(SHOWN_VALUES));
    },
  };
}
