import { TEXTS } from '../texts.ts';

/** By value where the server knows it, otherwise by the beginning of its id. */
export function parametersText(id: string | null, values: Readonly<Record<string, string>> | null): string {
  if (id === null) return TEXTS.none;
  if (values === null) return id.slice(0, 8);
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}
