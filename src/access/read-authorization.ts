/** What an `Authorization` header says; null when it says nothing that we understand. */
export type Authorization =
  | { readonly scheme: 'basic'; readonly name: string; readonly password: string }
  | { readonly scheme: 'bearer'; readonly secret: string };

const LONGEST = 1024;

export function readAuthorization(header: string): Authorization | null {
  if (header.length > LONGEST) return null;
  const [, scheme = '', rest = ''] = /^([A-Za-z]+) +(\S+) *$/.exec(header) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { scheme: 'bearer', secret: rest };
  if (scheme.toLowerCase() !== 'basic') return null;
  return readBasic(rest);
}

/** RFC 7617, 2: base64 of the name, a colon and the password, in UTF-8 as our challenge asks. */
function readBasic(encoded: string): Authorization | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null;
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) return null;
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  return { scheme: 'basic', name: text.slice(0, colon), password: text.slice(colon + 1) };
}
