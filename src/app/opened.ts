import { ClosingStack } from '../lib/closing-stack.ts';

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
