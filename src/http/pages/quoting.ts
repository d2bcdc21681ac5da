/** For a POSIX shell: whatever stands in it is one word. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** For JavaScript, in single quotes as people write them. */
export function scriptString(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner}'`;
}

/** One part of a path or query; the apostrophe too, so that the address can stand in any quotes. */
export function addressPart(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27');
}
