import { isIPv6 } from 'node:net';

/** Whom a failed attempt is counted against: an IPv4 address, or the /64 that an IPv6 address is picked from at will. */
export function sourceOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.toLowerCase().split('::');
  const before = groupsOf(head);
  const missing = tail === undefined ? 0 : 8 - before.length - groupsOf(tail).length;
  const groups = [...before, ...Array<string>(Math.max(0, missing)).fill('0'), ...groupsOf(tail ?? '')];
  return `${groups.slice(0, 4).map(withoutZeros).join(':')}::/64`;
}

function groupsOf(text: string): readonly string[] {
  if (text === '') return [];
  // The dotted end of an address such as 64:ff9b::192.0.2.1 stands for two groups.
  return text.split(':').flatMap((group) => (group.includes('.') ? [group, group] : [group]));
}

function withoutZeros(group: string): string {
  return group.replace(/^0+(?=.)/, '');
}
