/** With the address as this browser knows the server. */
export function curl(method: string, path: string, body?: unknown): string {
  const address = new URL(path, location.href.split('#')[0]).href;
  const call = `curl -u NAME:PASSWORD ${method === 'GET' ? '' : `-X ${method} `}${quoted(address)}`;
  if (body === undefined) return call;
  if (body instanceof URLSearchParams) return `${call} -d ${quoted(body.toString())}`;
  return [
    `${call} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join('\n');
}

/** One word for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
