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

/** Opens parts that `close` closes in reverse order; closes them immediately if opening fails. */
export async function opened<Parts extends object>(
  open: (stack: ClosingStack) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const stack = new ClosingStack();
  try {
    return { ...(await open(stack)), close: () => stack.close() };
  } catch (error) {
    await stack.close();
    throw error;
  }
}

export async function whileOpen<Result>(work: (stack: ClosingStack) => Promise<Result>): Promise<Result> {
  const stack = new ClosingStack();
  try {
    return await work(stack);
  } finally {
    await stack.close();
  }
}
