/** Layers that WMS clients request by one name, and that capabilities list below it. */
export interface LayerGroup {
  readonly name: string;
  /** The name when absent. */
  readonly title?: string | undefined;
  /** Names of layers and other groups, the first at the bottom. A group is in one other at most, and not in itself. */
  readonly layers: readonly string[];
}

/** By name. */
export type LayerGroups = ReadonlyMap<string, LayerGroup>;

/** The names of all layers of a group, the first at the bottom; null: there is no such group. */
export function membersOf(groups: LayerGroups, name: string): readonly string[] | null {
  const group = groups.get(name);
  return group ? group.layers.flatMap((child) => membersOf(groups, child) ?? [child]) : null;
}
