/** With the address as this browser knows the server. */
export function curl(method: string, path: string, body?: unknown): string {
  const address = new URL(path, location.href.split('#')[0]).href;
  if (body === undefined) return `curl -u NAME:PASSWORD ${quoted(address)}`;
  return [
    `curl -u NAME:PASSWORD -X ${method} ${quoted(address)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join('\n');
}

/** One word for a POSIX shell, whatever stands in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
