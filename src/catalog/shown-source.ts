import { hideCredentials } from '../lib/hide-secrets.ts';
import { partsOf, SOURCE_DRIVERS } from '../sources/drivers.ts';

/** The options of a source that every account may see: its type, and those that its driver lists. */
export function shownSource(source: unknown): Record<string, string> {
  const options = Object(source) as Record<string, unknown>;
  const driver = SOURCE_DRIVERS.find(({ type }) => type === options.type);
  if (!driver) return {};
  const shown: readonly string[] = driver.shown.filter((name) => options[name]);
  const parts = partsOf(source).map(({ layer, source: own }) => layer ?? shownSource(own).type);
  if (driver.type === 'layers') return { type: driver.type, of: parts.join(', ') };
  const textOf = (name: string) => (name === 'url' ? plainAddress(options.url) : String(options[name]));
  return Object.fromEntries([['type', driver.type], ...shown.map((name) => [name, textOf(name)])]);
}

/** Keeps only names and values of the query that cannot be keys, such as `map`. */
function plainAddress(value: unknown): string {
  const addresses = [value].flat().map(String);
  return addresses.map(hideCredentials).join(', ');
}
