import { describe, expect, it } from 'vitest';
import { ClosingStack } from './closing-stack.ts';

describe('a closing stack', () => {
  it('a closing stack closes in reverse order, each thing once', async () => {
    const closed: string[] = [];
    const stack = new ClosingStack();
    stack.use({ close: () => closed.push('first') });
    stack.use({ close: async () => closed.push('second') });
    await stack.close();
    await stack.close();
    expect(closed).toEqual(['second', 'first']);
  });

  it('a closing stack closes the rest when one fails, and then throws', async () => {
    const closed: string[] = [];
    const stack = new ClosingStack();
    stack.use({ close: () => closed.push('first') });
    stack.use({ close: () => Promise.reject(new Error('stuck')) });
    await expect(stack.close()).rejects.toThrow(AggregateError);
    expect(closed).toEqual(['first']);
  });
});
