import { Counter, Gauge, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

export interface Family {
  set(value: number, labels?: Labels): void;
}

/** Fills its families with what is so now. */
export type Fill = () => void | Promise<void>;

/**
 * A page of figures for Prometheus. Nothing is counted here: the rooms keep plain numbers, and each look at the
 * page copies them, so that a request costs no more than an increment of its own.
 */
export class MetricSheet {
  readonly #registry = new Registry();
  readonly #fills: Fill[] = [];
  #writing: Promise<string> | null = null;

  get contentType(): string {
    return this.#registry.contentType;
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): Family {
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
    return { set: (value, labels = {}) => gauge.set({ ...labels }, value) };
  }

  /** What is set is the whole sum since the start. */
  counter(name: string, help: string, labelNames: readonly string[] = []): Family {
    const counter = new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
    return { set: (value, labels = {}) => counter.inc({ ...labels }, value) };
  }

  onLook(fill: Fill): void {
    this.#fills.push(fill);
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
