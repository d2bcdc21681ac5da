const SECRET_NAME = /key|token|secret|pass|pwd|auth|sig|credential|session/i;
const HIDDEN = '***';

/** An address as it may be shown to whoever may look at a layer: no user, no password, no key in the query. */
export function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  shown.hash = '';
  for (const name of new Set(shown.searchParams.keys())) {
    if (SECRET_NAME.test(name)) shown.searchParams.set(name, HIDDEN);
  }
  return shown.toString();
}
