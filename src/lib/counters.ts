export interface Count {
  /** As Prometheus has it, without `tilewarden_`, e.g. `flights_started_total`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Series that come beyond these are counted with empty labels. */
const MAX_SERIES = 10_000;

/** Sums by name and labels. Each process counts; the server sums the counts of all. */
export class Counters {
  readonly #counts = new Map<string, Count & { value: number }>();
  readonly #collect: () => Iterable<Count>;

  /** `collect` returns counts from elsewhere since its last call. */
  constructor(collect: () => Iterable<Count> = () => []) {
    this.#collect = collect;
  }

  count(name: string, labels: Count['labels'], value = 1): void {
    this.add({ name, labels, value });
  }

  add(count: Count): void {
    const key = JSON.stringify([count.name, count.labels]);
    const known = this.#counts.get(key);
    if (known) known.value += count.value;
    else if (this.#counts.size < MAX_SERIES || isEmpty(count)) this.#counts.set(key, { ...count });
    else this.add({ ...count, labels: empty(count.labels) });
  }

  all(): readonly Count[] {
    for (const count of this.#collect()) this.add(count);
    return [...this.#counts.values()];
  }

  /** Counts since the last call, to be summed by another process. */
  take(): readonly Count[] {
    const taken = this.all();
    this.#counts.clear();
    return taken;
  }
}

function isEmpty({ labels }: Count): boolean {
  return Object.values(labels).every((value) => value === '');
}

function empty(labels: Count['labels']): Count['labels'] {
  return Object.fromEntries(Object.keys(labels).map((label) => [label, '']));
}

export function sumRecords<Name extends string>(all: readonly Readonly<Record<Name, number>>[]) {
  const sums: Record<string, number> = {};
  for (const record of all) {
    for (const [name, value] of Object.entries<number>(record)) sums[name] = (sums[name] ?? 0) + value;
  }
  return sums as Record<Name, number>;
}
