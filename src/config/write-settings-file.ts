import { CORE_SCHEMA, dump } from 'js-yaml';

/** One line for each setting of a layer, so that people can read on. */
const NESTED_ON_LINES = 3;

/** The text of a configuration file, or of a part of one. */
export function writeSettingsFile(tree: object): string {
  return dump(tree, { schema: CORE_SCHEMA, noRefs: true, lineWidth: -1, flowLevel: NESTED_ON_LINES });
}
