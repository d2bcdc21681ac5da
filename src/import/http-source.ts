import { trimEndOf } from '../lib/scan-text.ts';
import { isOwnHeader, MAX_TIMEOUT_SECONDS } from '../sources/http-options.ts';
import type { TrackedTable } from './tracked-table.ts';

export interface Address {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Takes out the credentials, which other programs put into the address. Null: not an address. */
export function parsedAddress(text: string): Address | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  return {
    url: trimEndOf(url.href, /[?&]/),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}

export function credentialsOf({ username, password }: Address): object {
  return username === '' ? {} : { username, password };
}

/** Headers that the connection sets itself are left out. */
export function headersIn(table: TrackedTable): Readonly<Record<string, string>> | undefined {
  const entries = table.keys().flatMap((name) => {
    if (!isOwnHeader(name)) return [[name, table.text(name) ?? ''] as const];
    table.leaveOut(name, 'is a header that cannot be set');
    return [];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

export function timeoutIn(table: TrackedTable, key: string): number | undefined {
  const seconds = table.number(key);
  if (seconds === undefined || (seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS)) return seconds;
  table.change(key, `is ${seconds}; the longest timeout, ${MAX_TIMEOUT_SECONDS} seconds, is used`);
  return MAX_TIMEOUT_SECONDS;
}
