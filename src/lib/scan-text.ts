/**
 * Tools for untrusted text: one pass, so that the time is linear in the length, for any content. Regular expressions
 * over such text are for single marks and anchored forms; `npm run check` finds slower ones.
 */

/** Without the characters at its end that match, e.g. `/[?&]/`. */
export function trimEndOf(text: string, character: RegExp): string {
  let end = text.length;
  while (end > 0 && character.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Null: it does not end with a digit. */
export function numberAtEnd(text: string): number | null {
  const digits = text.slice(trimEndOf(text, /\d/).length);
  return digits === '' ? null : Number(digits);
}

/** Rules of sections between two marks. Both patterns are global. */
export interface SectionRules {
  readonly open: RegExp;
  /** The mark that ends a section with this beginning; without one in the text it reaches to the end. Null: it is no section. */
  closeOf(open: string): RegExp | null;
  /** In place of the section and its marks. */
  replace(inner: string, open: string): string;
}

/** A mark that ends a section is never searched for twice in the same place. */
export function replaceSections(text: string, { open, closeOf, replace }: SectionRules): string {
  const parts: string[] = [];
  let [kept, at] = [0, 0];
  for (let begin = find(open, text, at); begin; begin = find(open, text, at)) {
    at = begin.index + begin[0].length;
    const close = closeOf(begin[0]);
    if (!close) continue;
    const end = find(close, text, at);
    parts.push(text.slice(kept, begin.index), replace(text.slice(at, end?.index), begin[0]));
    at = end ? end.index + end[0].length : text.length;
    kept = at;
  }
  return parts.join('') + text.slice(kept);
}

function find(mark: RegExp, text: string, from: number): RegExpExecArray | null {
  mark.lastIndex = from;
  return mark.exec(text);
}

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

/** `*` in the pattern stands for any text. */
export function matchesPattern(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop() ?? '';
  const fits = text.length >= first.length + last.length && text.startsWith(first) && text.endsWith(last);
  return fits && holdsInOrder(text.slice(first.length, text.length - last.length), parts);
}

function holdsInOrder(inner: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = inner.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}
