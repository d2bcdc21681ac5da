import { SOURCE_DRIVERS } from '../sources/drivers.ts';

/** The options of a source that every account may see: its type, and those that its driver lists. */
export function shownSource(source: unknown): Record<string, string> {
  const options = Object(source) as Record<string, unknown>;
  const driver = SOURCE_DRIVERS.find(({ type }) => type === options.type);
  if (!driver) return {};
  const shown = driver.shown.filter((name) => options[name]);
  const textOf = (name: string) => (name === 'url' ? addressOnly(options.url) : String(options[name]));
  return Object.fromEntries([['type', driver.type], ...shown.map((name) => [name, textOf(name)])]);
}

/** Without query and user, which may contain keys. */
function addressOnly(value: unknown): string {
  const addresses = [value].flat().map(String);
  return addresses.map((url) => url.replace(/[?#].*/s, '').replace(/\/\/[^/@]*@/, '//')).join(', ');
}
