import { expect, it } from 'vitest';
import { cutLines } from './scan-text.ts';

async function linesOf(chunks: Iterable<string>): Promise<readonly string[]> {
  const lines: string[] = [];
  async function* each() {
    yield* chunks;
  }
  for await (const line of cutLines(each(), 4)) lines.push(line);
  return lines;
}

it('lines are the same however a text arrives', async () => {
  const text = 'a\n\nbcd\nef\n';
  expect(await linesOf([text])).toEqual(['a', '', 'bcd', 'ef']);
  expect(await linesOf([...text])).toEqual(['a', '', 'bcd', 'ef']);
  expect(await linesOf(['a\nb'])).toEqual(['a', 'b']);
});

it('long lines are cut, also over many chunks and at the end', async () => {
  expect(await linesOf(['123456\n12', '34', '56\n7', '8', '9', '01'])).toEqual(['1234', '1234', '7890']);
});
