const NAMES = 'key|token|secret|pass|pwd|auth|sig|credential|session';
const SECRET_NAME = new RegExp(NAMES, 'i');
/** `?api_key=…`, also percent-encoded, and `"token":"…"`. */
const NAMED = new RegExp(`([\\w.-]*(?:${NAMES})[\\w.-]*(?:=|%3D|"\\s*:\\s*"))[^&\\s"'<>;]+`, 'gi');
const CREDENTIALS = /(:\/\/[^/?#@:\s]*):[^/?#@\s]*@/g;

/** Whether a parameter of that name is likely to hold a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** A text, such as an address or what a server answered, as it may be shown: no password, no key in a query. */
export function hideSecrets(text: string, mask = '***'): string {
  return text.replace(CREDENTIALS, `$1:${mask}@`).replace(NAMED, `$1${mask}`);
}
