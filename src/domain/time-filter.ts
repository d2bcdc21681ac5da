import { misconfigured } from './errors.ts';
import { addPeriod, type Period, printInstant, readInstant } from './iso-time.ts';
import { checkedName, type ParameterFilter, parameterRefused } from './parameter-filter.ts';
import type { TimeDimension, TimeValues, TimeView } from './time-values.ts';

interface TimeFilterOptions {
  readonly name: string;
  readonly values: TimeValues;
  /** `latest`, or an instant. */
  readonly defaultValue: string;
  readonly nearest: boolean;
  /** Instants that are older than the latest, or than now, by more than this are not listed. */
  readonly keep: Period | null;
  readonly now: () => number;
}

/** They all mean the default, and never name tiles. */
const DEFAULT_NAMES: ReadonlySet<string> = new Set(['', 'latest', 'current', 'default', 'now', 'present']);
const LATEST = Number.POSITIVE_INFINITY;
const SHOWN_VALUES = 10;

export function createTimeFilter(options: TimeFilterOptions): ParameterFilter {
  const { nearest, keep, values } = options;
  const name = checkedName(options.name);
  const followsLatest = DEFAULT_NAMES.has(options.defaultValue.toLowerCase());
  const fixed = followsLatest ? null : readInstant(options.defaultValue);
  if (!followsLatest && !fixed) {
    throw misconfigured(`The default of parameter ${name} must be latest or a time such as 2026-01-01.`);
  }

  function view(): TimeView {
    const now = options.now();
    const whole = { since: Number.NEGATIVE_INFINITY, now };
    const last = keep && values.nearest(LATEST, whole);
    return keep && last ? { since: addPeriod(Math.min(last.at, now), keep, -1), now } : whole;
  }

  /** Of the listed instants the nearest; null: none is listed. */
  function find(time: number): { readonly at: number; readonly text: string } | null {
    const found = values.nearest(time, view());
    return found ? { at: found.at, text: printInstant(found.at, found.precision) } : null;
  }

  function defaultText(): string {
    const exact = fixed && find(fixed.at);
    return (exact && exact.at === fixed.at ? exact : find(LATEST))?.text ?? '';
  }

  function listed(most = Number.POSITIVE_INFINITY): readonly string[] {
    const texts: string[] = [];
    for (const text of values.listed(view())) {
      if (texts.length >= most) break;
      texts.push(text);
    }
    return texts;
  }

  const times: TimeDimension = {
    nearest,
    followsLatest,
    keepsWindow: keep !== null,
    listed: () => listed(),
    summary() {
      const [first, last] = [find(Number.NEGATIVE_INFINITY), find(LATEST)];
      if (!first || !last) return null;
      const count = values.count(view());
      return { default: defaultText(), count, first: first.text, last: last.text };
    },
    includes(value) {
      const time = readInstant(value)?.at ?? Number.NaN;
      return find(time)?.at === time;
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
      const text = isDefault ? defaultText() : null;
      if (text) return text;
      const found = wanted && find(wanted.at);
      if (found && (nearest || found.at === wanted.at)) return found.text;
      throw parameterRefused(name, value, listed(SHOWN_VALUES));
    },
  };
}
