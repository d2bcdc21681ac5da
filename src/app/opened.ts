import { ClosingStack } from '../lib/closing-stack.ts';

/** What `open` opens, closed in reverse order by `close`, or immediately where it fails. */
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
