import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { GridSetBook } from '../domain/grid-set-book.ts';
import type { Explanation } from '../lib/explain-issue.ts';
import type { ValuePath } from '../lib/value-path.ts';
import type { AdoptSettings } from './driver-schemas.ts';

type Declared = Pick<LayerDeclaration, 'adopt' | 'gridSets'>;

/** A store that forgets what was truncated, and grid sets that the layer does not offer: nothing would be found. */
export function adoptionProblems(
  layer: Declared,
  gridSets: GridSetBook,
  storeType: string | undefined,
  path: ValuePath,
): readonly Explanation[] {
  if (layer.adopt.length > 0 && storeType === 'memory') {
    const message =
      'needs a store that outlives a restart, because truncated tiles stay hidden; one of type memory does not';
    return [{ path: [...path, 'adopt'], message }];
  }
  const offered = layer.gridSets.map(({ name }) => gridSets.find(name)?.name ?? name);
  const isStrange = (name: string) => !offered.includes(gridSets.find(name)?.name ?? name);
  return layer.adopt.flatMap((adopted) =>
    namedIn(adopted)
      .filter(([, name]) => isStrange(name))
      .map(([key, name]) => ({
        path: [...path, 'adopt', key],
        message: `names the grid set ${name}, which the layer does not offer; it has ${offered.join(', ')}`,
      })),
  );
}

function namedIn(adopted: AdoptSettings): readonly (readonly [key: string, name: string])[] {
  if ('gridSets' in adopted) return Object.keys(adopted.gridSets).map((name) => ['gridSets', name]);
  return adopted.gridSet === undefined ? [] : [['gridSet', adopted.gridSet]];
}
