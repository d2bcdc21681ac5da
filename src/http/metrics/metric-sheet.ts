import type { Registry } from 'prom-client';

/** Loaded with the first look at a page: a start does without it. */
const loadLibrary = () => import('prom-client');

type Library = Awaited<ReturnType<typeof loadLibrary>>;
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

interface Page {
  readonly body: string;
  readonly contentType: string;
}

interface Opened {
  readonly registry: Registry;
  readonly fills: readonly (() => Promise<void>)[];
}

/**
 * A page of figures for Prometheus. Nothing is counted here: the rooms keep plain numbers, and each look at the
 * page copies them, so that a request costs no more than an increment of its own.
 */
export class MetricSheet {
  readonly #parts: ((library: Library, registry: Registry) => () => Promise<void>)[] = [];
  #opening: Promise<Opened> | null = null;
  #writing: Promise<Page> | null = null;

  /** `look` is called once for each look at the page. */
  add<Source>(look: () => Source | Promise<Source>, metrics: readonly Metric<Source>[]): void {
    this.#parts.push((library, registry) => {
      const families = metrics.map((metric) => familyOf(metric, library, registry));
      return async () => {
        const source = await look();
        for (const { read, set } of families) {
          const found = read(source);
          if (typeof found === 'number') set(found);
          else for (const [value, labels] of found ?? []) set(value, labels);
        }
      };
    });
  }

  /** Those who look at the same time share one page. */
  write(): Promise<Page> {
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeNow(): Promise<Page> {
    this.#opening ??= this.#open();
    const { registry, fills } = await this.#opening;
    registry.resetMetrics();
    for (const fill of fills) await fill();
    return { body: await registry.metrics(), contentType: registry.contentType };
  }

  async #open(): Promise<Opened> {
    const library = await loadLibrary();
    const registry = new library.Registry();
    return { registry, fills: this.#parts.map((part) => part(library, registry)) };
  }
}

function familyOf<Source>(
  { kind, name, help, labels = [], read }: Metric<Source>,
  { Counter, Gauge }: Library,
  registry: Registry,
) {
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  const family = kind === 'gauge' ? new Gauge(options) : new Counter(options);
  return { read, set: (value: number, of: Labels = {}) => family.inc({ ...of }, value) };
}
