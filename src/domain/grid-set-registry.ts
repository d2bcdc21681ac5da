import { someOf } from '../lib/closest-name.ts';
import { misconfigured, shortened, TilewardenError } from './errors.ts';
import type { GridSet } from './grid-set.ts';

export type GridSetRegistry = ReturnType<typeof createGridSetRegistry>;

/** The grid sets that layers can choose from. Throws `config-invalid` when two grid sets have one name. An alias leads to the first grid set that claims it. */
export function createGridSetRegistry(gridSets: readonly GridSet[]) {
  const byName = new Map<string, GridSet>();
  for (const gridSet of gridSets) {
    if (byName.has(gridSet.name)) {
      throw misconfigured(`There are two grid sets named ${gridSet.name}.`);
    }
    byName.set(gridSet.name, gridSet);
  }
  const byAlias = new Map<string, GridSet>();
  for (const gridSet of gridSets) {
    for (const alias of gridSet.aliases) if (!byAlias.has(alias)) byAlias.set(alias, gridSet);
  }
  const find = (nameOrAlias: string): GridSet | null =>
    byName.get(nameOrAlias) ?? byAlias.get(nameOrAlias) ?? null;
  return {
    gridSets,
    /** By name, or by an alias that is no other grid set's name. */
    find,
    /** As `find`, but throws `grid-set-unknown`. */
    get(nameOrAlias: string): GridSet {
      const gridSet = find(nameOrAlias);
      if (gridSet) return gridSet;
      throw new TilewardenError(
        'grid-set-unknown',
        `There is no grid set ${shortened(nameOrAlias)}; there are ${someOf([...byName.keys()])}.`,
      );
    },
  };
}
