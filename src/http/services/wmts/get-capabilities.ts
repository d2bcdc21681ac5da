import type { Catalog } from '../../../catalog/catalog.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { Answer } from '../../answer.ts';
import { refuseStrangers, visibleLayers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import { capabilitiesAnswer } from '../capabilities-answer.ts';
import type { Kvp } from '../kvp.ts';
import { OwsException } from '../ows-exception.ts';
import { createCapabilitiesWriter } from './capabilities.ts';
import { createCapabilitiesCache } from './capabilities-cache.ts';
import { layerAsked } from './get-tile.ts';
import { createCrsNames } from './grid-set-crs.ts';

const VERSION = '1.0.0';

/** All layers that the caller may see, or the one in `LAYER`. */
export function createGetCapabilities(catalog: Pick<Catalog, 'layer' | 'layers'>) {
  const documentOf = createCapabilitiesCache(createCapabilitiesWriter(createCrsNames()));

  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    checkVersions(asked);
    const all = layersAsked(catalog, asked);
    const shown = await layersShown(exchange, all, asked);
    return capabilitiesAnswer(exchange, documentOf(shown, exchange.baseUrl), all, 'text/xml; charset=utf-8');
  };
}

function layersAsked(catalog: Pick<Catalog, 'layer' | 'layers'>, asked: Kvp): readonly Layer[] {
  return asked('LAYER') === null ? Array.from(catalog.layers()) : [layerAsked(catalog, asked).layer];
}

/** A list leaves out what the caller may not see; who names such a layer is told. */
async function layersShown(
  exchange: Exchange,
  layers: readonly Layer[],
  asked: Kvp,
): Promise<readonly Layer[]> {
  if (asked('LAYER') === null) return visibleLayers(exchange, layers);
  for (const layer of layers) await refuseStrangers(exchange, layer);
  return layers;
}

/** OGC 06-121r3, 7.3.2: a client that speaks no version of ours is told so; one that says nothing gets what there is. */
function checkVersions(asked: Kvp): void {
  const accepted = asked('ACCEPTVERSIONS');
  if (accepted === null || accepted.split(',').some((version) => version.trim() === VERSION)) return;
  throw new OwsException('VersionNegotiationFailed', null, `The only version spoken here is ${VERSION}.`);
}
