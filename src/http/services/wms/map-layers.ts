import { type BoundLayer, boundLayer } from '../../../catalog/catalog.ts';
import { shortened } from '../../../domain/errors.ts';
import { membersOf } from '../../../domain/layer.ts';
import { isOpenTo, requireVisible, visibleLayers } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
import type { Kvp } from '../kvp.ts';
import { DEFAULT } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { badValue, blaming, ServiceException } from '../service-exception.ts';
import { MAX_LAYERS, requestedNames, requestedStyles } from './map-request.ts';

export interface StyledLayer {
  readonly bound: BoundLayer;
  readonly style: string;
  /** It was not named itself. */
  readonly isMember: boolean;
}

/** The layers of a map, the first at the bottom. A group is drawn with those of its layers that the caller may see. */
export async function requestedMapLayers(
  context: Context,
  { catalog, groups }: Pick<Services, 'catalog' | 'groups'>,
  kvp: Kvp,
  parameter: 'LAYERS' | 'QUERY_LAYERS' = 'LAYERS',
): Promise<readonly StyledLayer[]> {
  const names = requestedNames(kvp, parameter, (name) => catalog.layer(name) !== null || groups.has(name));
  const styles = parameter === 'LAYERS' ? requestedStyles(kvp, names.length) : [];
  const layers: StyledLayer[] = [];
  for (const [index, name] of names.entries()) {
    const style = styles[index] ?? '';
    const members = catalog.layer(name) ? null : membersOf(groups, name);
    if (members) refuseGroupStyle(name, style);
    const visible = members ? await visibleMembers(context, catalog, members) : [];
    for (const bound of visible) layers.push({ bound, style: '', isMember: true });
    if (visible.length > 0) continue;
    // A group without visible layers is as unknown as a layer.
    const bound = blaming('LayerNotDefined', parameter, () => boundLayer(catalog, name));
    if (!isOpenTo(context, bound.layer)) await requireVisible(context, bound.layer);
    layers.push({ bound, style, isMember: false });
  }
  if (layers.length > MAX_LAYERS) throw badValue(parameter, `A map has at most ${MAX_LAYERS} layers.`);
  return layers;
}

async function visibleMembers(
  context: Context,
  catalog: Services['catalog'],
  names: readonly string[],
): Promise<readonly BoundLayer[]> {
  const members = names.flatMap((name) => catalog.layer(name) ?? []).filter(({ layer }) => layer.enabled);
  const visible = new Set(
    await visibleLayers(
      context,
      members.map(({ layer }) => layer),
    ),
  );
  return members.filter(({ layer }) => visible.has(layer));
}

function refuseGroupStyle(name: string, style: string): void {
  if (style === '' || style === DEFAULT) return;
  throw new ServiceException('StyleNotDefined', 'STYLES', `Group ${name} has no style ${shortened(style)}.`);
}
