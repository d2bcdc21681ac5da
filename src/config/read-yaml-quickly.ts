import { CORE_SCHEMA, load } from 'js-yaml';

/**
 * What the quick reader and the thorough one could understand differently: anchors, aliases and tags, numbers with
 * underscores or in base two. Whoever writes them has the time that the thorough one takes.
 */
const ONLY_THOROUGHLY = [
  /(?:^|[\s,[{])[&*!]\S/m,
  /^%/m,
  /(?:^|[\s,[{:])[-+]?[\d.]+_[\d_.]*(?=[\s,\]}]|$)/m,
  /(?:^|[\s,[{:])[-+]?0b[01]/m,
];

/**
 * The value of a YAML text, four times as fast as by the reader that remembers where everything stands. Null: not
 * without that one, because something is wrong, or because the two might not agree.
 */
export function readYamlQuickly(text: string): { readonly value: unknown } | null {
  if (ONLY_THOROUGHLY.some((pattern) => pattern.test(text))) return null;
  try {
    return { value: load(text, { schema: CORE_SCHEMA }) };
  } catch {
    return null;
  }
}
