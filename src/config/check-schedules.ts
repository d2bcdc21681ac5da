import type { Explanation } from '../lib/explain-issue.ts';
import type { ValuePath } from '../lib/value-path.ts';
import type { SettingsDocument } from './settings-schema.ts';

type GivenLayer = SettingsDocument['layers'][number];

/** Names that lead nowhere, or are there twice. */
export function scheduleProblems(layer: GivenLayer, path: ValuePath): readonly Explanation[] {
  const gridSets = layer.gridSets.map((subset) => (typeof subset === 'string' ? subset : subset.name));
  const parameters = layer.parameters.map((filter) => filter.name.toUpperCase());
  const names = new Set<string>();
  return layer.schedules.flatMap((schedule, index) => {
    const at = [...path, 'schedules', index];
    const taken = names.has(schedule.name);
    names.add(schedule.name);
    return [
      ...(taken
        ? [{ path: [...at, 'name'], message: 'is taken: another schedule of the layer has it too' }]
        : []),
      ...notOffered([...at, 'gridSet'], schedule.gridSet, gridSets),
      ...notOffered([...at, 'format'], schedule.format, layer.formats),
      ...Object.keys(schedule.parameters ?? {}).flatMap((name) =>
        notOffered([...at, 'parameters', name], name.toUpperCase(), parameters),
      ),
    ];
  });
}

function notOffered(
  path: ValuePath,
  name: string | undefined,
  offered: readonly string[],
): readonly Explanation[] {
  if (name === undefined || offered.includes(name)) return [];
  return [{ path, message: `names ${name}, which the layer does not offer; it has ${offered.join(', ')}` }];
}
