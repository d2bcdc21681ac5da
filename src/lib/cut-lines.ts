/** The lines of a text. Those longer than `maxLength` are cut, so that one endless line takes no more memory than another. */
export async function* cutLines(chunks: AsyncIterable<string>, maxLength: number): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = chunk.split('\n');
    lines[0] = rest + lines[0];
    rest = (lines.pop() ?? '').slice(0, maxLength);
    for (const line of lines) yield line.slice(0, maxLength);
  }
  if (rest !== '') yield rest;
}
