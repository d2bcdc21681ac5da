import { Counter, Gauge, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [value: number, labels?: Labels];

/** A counter is the sum since the start. */
export interface Metric<Source> {
  readonly kind: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** As it is now; null: nothing is known. */
  readonly read: (source: Source) => number | null | Iterable<Sample>;
}

/**
 * A page of figures for Prometheus. Nothing is counted here: the rooms keep plain numbers, and each look at the
 * page copies them, so that a request costs no more than an increment of its own.
 */
export class MetricSheet {
  readonly #registry = new Registry();
  readonly #fills: (() => Promise<void>)[] = [];
  #writing: Promise<string> | null = null;

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** `look` is called once for each look at the page. */
  add<Source>(look: () => Source | Promise<Source>, metrics: readonly Metric<Source>[]): void {
    const families = metrics.map(({ kind, name, help, labels = [], read }) => {
      const options = { name, help, labelNames: [...labels], registers: [this.#registry] };
      const family = kind === 'gauge' ? new Gauge(options) : new Counter(options);
      return { read, set: (value: number, of: Labels = {}) => family.inc({ ...of }, value) };
    });
    this.#fills.push(async () => {
      const source = await look();
      for (const { read, set } of families) {
        const found = read(source);
        if (typeof found === 'number') set(found);
        else for (const [value, labels] of found ?? []) set(value, labels);
      }
    });
  }

  /** Those who look at the same time share one page. */
  write(): Promise<string> {
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeNow(): Promise<string> {
    this.#registry.resetMetrics();
    for (const fill of this.#fills) await fill();
    return this.#registry.metrics();
  }
}
