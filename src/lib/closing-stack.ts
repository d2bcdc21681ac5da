type Close = () => unknown;

/** Closes resources in reverse order. A failure to close one does not keep the others open. */
export class ClosingStack {
  readonly #closers: Close[] = [];

  /** Returns `thing`, so that opening and remembering fit on one line. */
  use<T extends { close(): unknown }>(thing: T): T {
    this.#closers.push(() => thing.close());
    return thing;
  }

  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'Some parts did not close');
  }
}
