import type { Counter, Gauge } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [value: number, labels?: Labels];

/** A counter is the sum since the start. */
export interface Metric<Source> {
  readonly kind: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** The current value; null: unknown. */
  readonly read: (source: Source) => number | null | Iterable<Sample>;
}

interface Page {
  readonly body: string;
  readonly contentType: string;
}

/**
 * A page of figures for Prometheus. Nothing is counted here: the rooms keep plain numbers, and each scrape copies them,
 * so that a request costs no more than an increment of its own.
 */
export class MetricSheet {
  readonly #parts: ((familyOf: (metric: Metric<never>) => Counter | Gauge) => Promise<void>)[] = [];
  #writing: Promise<Page> | null = null;

  /** `read` is called once for each scrape. */
  add<Source>(read: () => Source | Promise<Source>, metrics: readonly Metric<Source>[]): void {
    this.#parts.push(async (familyOf) => {
      const source = await read();
      for (const metric of metrics) {
        const family = familyOf(metric);
        const samples = metric.read(source) ?? [];
        for (const [value, labels = {}] of typeof samples === 'number' ? [[samples] as const] : samples)
          family.inc({ ...labels }, value);
      }
    });
  }

  /** Concurrent scrapes share one page. */
  write(): Promise<Page> {
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** The library is loaded with the first scrape: a start does without it. */
  async #writeNow(): Promise<Page> {
    const { Counter, Gauge, Registry } = await import('prom-client');
    const registry = new Registry();
    for (const part of this.#parts) {
      await part(({ kind, name, help, labels = [] }) => {
        const options = { name, help, labelNames: [...labels], registers: [registry] };
        return kind === 'gauge' ? new Gauge(options) : new Counter(options);
      });
    }
    return { body: await registry.metrics(), contentType: registry.contentType };
  }
}
