export function createMarkdown(
  file: string,
  pages: ReadonlySet<string>,
  headings: { text: string }[],
): { parse(markdown: string): string };
