import { useMemo, useSyncExternalStore } from 'react';
import { decodeUriPart } from '../../src/lib/decode-uri.ts';

export interface ConsoleRoute {
  /** The first part of the path, e.g. `layers`. */
  readonly page: string;
  /** The second part, decoded, or empty. */
  readonly item: string;
  readonly query: URLSearchParams;
}

export function routeOf(hash: string): ConsoleRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', item = ''] = path.split('/');
  return { page: page || 'overview', item: decodeUriPart(item, item), query: new URLSearchParams(query) };
}

export function addressOf(page: string, item = '', query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString();
  const path = item === '' ? `#/${page}` : `#/${page}/${encodeURIComponent(item)}`;
  return search === '' ? path : `${path}?${search}`;
}

export function goTo(address: string): void {
  location.hash = address;
}

let handedOver = '';

/** With input for that page that may have a password in it: it must not be in the address. */
export function goWith(input: string, address: string): void {
  handedOver = input;
  goTo(address);
}

/** The input of `goWith`, once. */
export function takeInput(): string {
  const input = handedOver;
  handedOver = '';
  return input;
}

/** Changes the query of this page without a new entry in the history; empty values are removed. */
export function changeQuery(changes: Readonly<Record<string, string>>): void {
  const { page, item, query } = routeOf(location.hash);
  const values = Object.entries({ ...Object.fromEntries(query), ...changes }).filter(
    ([, value]) => value !== '',
  );
  replaceHash(addressOf(page, item, Object.fromEntries(values)));
}

export function replaceHash(hash: string): void {
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): ConsoleRoute {
  const hash = useHash();
  return useMemo(() => routeOf(hash), [hash]);
}

export function useHash(): string {
  return useSyncExternalStore(listen, () => location.hash);
}

function listen(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}
