import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { errorCode } from '../lib/error-code.ts';
import { trimEndOf } from '../lib/scan-text.ts';
import type { SettingsInput } from './environment.ts';
import { variableOf } from './setting-overrides.ts';
import { SettingsError } from './settings-error.ts';

/** Address and credentials of the server that a command uses. */
export interface ClientSettings {
  /** Without a slash at its end; may have a path. */
  readonly server: string;
  readonly credentials: Credentials | null;
}

export type Credentials =
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string };

export const CLIENT_OVERRIDES = [
  { flag: 'server', placeholder: 'URL', help: 'the running server (http://127.0.0.1:8080)' },
  { flag: 'user', placeholder: 'NAME', help: 'user name (admin)' },
  {
    flag: 'password',
    placeholder: 'PASSWORD',
    help: 'their password; other users of this machine can see flags, so prefer the variable',
  },
  { flag: 'password-file', placeholder: 'FILE', help: 'a file with the password on one line' },
  { flag: 'token', placeholder: 'TOKEN', help: 'a token instead of a user' },
] as const;

type ClientFlag = (typeof CLIENT_OVERRIDES)[number]['flag'];

const FIRST_PASSWORD_FILE = 'initial-admin-password';
const FIRST_IS_DELETED =
  'does not exist: it is deleted when the password is changed. Give the new password in TILEWARDEN_PASSWORD or in a file of your own, or use a token';
const USUAL_SERVER = 'http://127.0.0.1:8080';
const USUAL_USER = 'admin';

export function readClientSettings(input: SettingsInput): ClientSettings {
  const read = (name: ClientFlag): string | null => {
    return input.flags[name] ?? (input.environment[variableOf({ flag: name })] || null);
  };
  const address = serverAddress(read('server') ?? USUAL_SERVER);
  const file = read('password-file');
  const origin = input.flags['password-file'] ? '--password-file' : variableOf({ flag: 'password-file' });
  const password =
    read('password') ?? (file === null ? null : readPassword(resolve(input.workingFolder, file), origin));
  // An address may be `http://anna:secret@host/`.
  const [user, secret] = [address.username, address.password].map((text) => decodeURIComponent(text) || null);
  return {
    server: `${address.origin}${trimEndOf(address.pathname, /\//)}`,
    credentials: clientLogin(read('token'), read('user') ?? user ?? null, password ?? secret ?? null),
  };
}

function clientLogin(token: string | null, user: string | null, password: string | null): Credentials | null {
  if (token !== null) return { kind: 'token', token };
  if (password !== null) return { kind: 'password', user: user ?? USUAL_USER, password };
  if (user === null) return null;
  throw new SettingsError([
    `There is no password for ${user}: give one with TILEWARDEN_PASSWORD, --password-file or --password`,
  ]);
}

function serverAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new SettingsError([`--server must be an address such as ${USUAL_SERVER}, not ${text}`]);
}

/** `origin`: the flag or variable that names the file. */
function readPassword(path: string, origin: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const why = errorCode(error) ?? String(error);
    const deleted = why === 'ENOENT' && basename(path) === FIRST_PASSWORD_FILE;
    throw new SettingsError([`${origin}  ${path} ${deleted ? FIRST_IS_DELETED : `cannot be read (${why})`}`]);
  }
}
