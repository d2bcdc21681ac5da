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
