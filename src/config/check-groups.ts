import type { Explanation } from '../lib/explain-issue.ts';
import { unknownName } from './check-sources.ts';
import type { SettingsDocument } from './settings-schema.ts';

/** Names of groups that are not unique, and children that are unknown or do not make a tree. */
export function groupProblems(
  { groups }: SettingsDocument,
  layers: ReadonlySet<string>,
): readonly Explanation[] {
  const problems: Explanation[] = [];
  const names = groups.map(({ name }) => name);
  const parents = new Map<string, string>();
  for (const [index, { name, layers: children }] of groups.entries()) {
    const refuse = (key: readonly (string | number)[], message: string) =>
      problems.push({ path: ['groups', index, ...key], message });
    if (names.indexOf(name) !== index) refuse(['name'], `is not unique: another group is named ${name}`);
    for (const [at, child] of children.entries()) {
      const isGroup = names.includes(child);
      const parent = parents.get(child);
      if (!isGroup && !layers.has(child)) {
        refuse(['layers', at], unknownName('layer or group', child, [...layers, ...names]));
      }
      if (parent !== undefined)
        refuse(['layers', at], `names the group ${child}, which is in ${parent} already`);
      if (isGroup) parents.set(child, name);
      if (isBelow(name, child, parents)) {
        refuse(['layers', at], `names the group ${child}, which would be in itself`);
      }
    }
  }
  return problems;
}

/** Each group has one parent, so that the way up has at most as many steps as there are groups. */
function isBelow(name: string, upper: string, parents: ReadonlyMap<string, string>): boolean {
  let at: string | undefined = name;
  for (let steps = 0; at !== undefined && steps <= parents.size; steps++) {
    if (at === upper) return true;
    at = parents.get(at);
  }
  return false;
}
