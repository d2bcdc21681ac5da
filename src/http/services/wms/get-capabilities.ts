import type { Catalog } from '../../../catalog/catalog.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { Answer } from '../../answer.ts';
import { refuseStrangers, visibleLayers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import { capabilitiesAnswer } from '../capabilities-answer.ts';
import type { Kvp } from '../kvp.ts';
import { createCapabilitiesCache } from '../wmts/capabilities-cache.ts';
import { layersAsked } from './map-asked.ts';
import { createWmsCapabilitiesWriter } from './wms-capabilities.ts';
import { asksForTileSets, negotiatedVersion, type WmsVersion } from './wms-version.ts';

/** WMS 1.1.1, 6.2: its document has a type of its own. */
const TYPES: Readonly<Record<WmsVersion, string>> = {
  '1.1.1': 'application/vnd.ogc.wms_xml; charset=utf-8',
  '1.3.0': 'text/xml; charset=utf-8',
};

/** All layers that the caller may see, or those in `LAYERS`. */
export function createWmsCapabilities(catalog: Pick<Catalog, 'layer' | 'layers'>) {
  const documents = {
    '1.1.1': createCapabilitiesCache(createWmsCapabilitiesWriter('1.1.1', false)),
    tiled: createCapabilitiesCache(createWmsCapabilitiesWriter('1.1.1', true)),
    '1.3.0': createCapabilitiesCache(createWmsCapabilitiesWriter('1.3.0', false)),
  };
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const version = negotiatedVersion(asked);
    const { all, shown } = await layersShown(catalog, exchange, asked);
    const kind = version === '1.1.1' && asksForTileSets(asked) ? 'tiled' : version;
    return capabilitiesAnswer(exchange, documents[kind](shown, exchange.baseUrl), all, TYPES[version]);
  };
}

/** A list leaves out what the caller may not see; who names such a layer is told. */
async function layersShown(
  catalog: Pick<Catalog, 'layer' | 'layers'>,
  exchange: Exchange,
  asked: Kvp,
): Promise<{ readonly all: readonly Layer[]; readonly shown: readonly Layer[] }> {
  if (asked('LAYERS') === null) {
    const all = Array.from(catalog.layers());
    return { all, shown: await visibleLayers(exchange, all) };
  }
  const all = layersAsked(catalog, asked, 'LAYERS').map(({ layer }) => layer);
  for (const layer of all) await refuseStrangers(exchange, layer);
  return { all, shown: all };
}
