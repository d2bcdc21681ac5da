import { hostAndPort } from './upstream-options.ts';

const ADDRESS = /^https?:\/\//i;

/** Every `host:port` that stands in these settings of sources, whatever they call their addresses. */
export function hostsNamedIn(settings: unknown): ReadonlySet<string> {
  return new Set(
    addressesIn(settings, [''])
      .filter((address) => URL.canParse(address))
      .map((address) => hostAndPort(new URL(address))),
  );
}

/** `{s}` stands for one of several subdomains; what else is in braces stands below the host. */
function addressesIn(value: unknown, subdomains: readonly string[]): readonly string[] {
  if (typeof value === 'string') {
    return ADDRESS.test(value) ? subdomains.map((name) => value.replaceAll('{s}', name)) : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const own =
    'subdomains' in value && Array.isArray(value.subdomains) ? value.subdomains.map(String) : subdomains;
  return Object.values(value).flatMap((inner) => addressesIn(inner, own));
}
