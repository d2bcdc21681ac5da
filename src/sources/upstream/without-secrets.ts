import { isSecretName } from '../../lib/hide-secrets.ts';

const HIDDEN = '***';

/** An address as it may be shown to whoever may look at a layer: no user, no password, no key in the query. */
export function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  shown.hash = '';
  for (const name of new Set(shown.searchParams.keys())) {
    if (isSecretName(name)) shown.searchParams.set(name, HIDDEN);
  }
  return shown.toString();
}
