import type { Catalog } from '../../../catalog/catalog.ts';
import type { Answer } from '../../answer.ts';
import { refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import type { Kvp } from '../kvp.ts';
import type { DocumentAnswerer, LayerDocument } from '../layer-documents.ts';
import { layersAsked } from './map-asked.ts';
import { createWmsCapabilitiesWriter } from './wms-capabilities.ts';
import { asksForTileSets, negotiatedVersion, type WmsVersion } from './wms-version.ts';

/** WMS 1.1.1, 6.2: its document has a type of its own. */
const TYPES: Readonly<Record<WmsVersion, string>> = {
  '1.1.1': 'application/vnd.ogc.wms_xml; charset=utf-8',
  '1.3.0': 'text/xml; charset=utf-8',
};

/** All layers that the caller may see, or those in `LAYERS`; who names one that they may not see is told. */
export function createWmsCapabilities(
  catalog: Pick<Catalog, 'layer'>,
  documentOf: (document: LayerDocument) => DocumentAnswerer,
) {
  const document = (version: WmsVersion, tileSets: boolean) =>
    documentOf({
      write: createWmsCapabilitiesWriter(version, tileSets),
      contentType: TYPES[version],
      fileName: 'wms-getcapabilities.xml',
    });
  const documents = {
    '1.1.1': document('1.1.1', false),
    tiled: document('1.1.1', true),
    '1.3.0': document('1.3.0', false),
  };
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const version = negotiatedVersion(asked);
    const kind = version === '1.1.1' && asksForTileSets(asked) ? 'tiled' : version;
    if (asked('LAYERS') === null) return documents[kind].aboutAll(exchange);
    const layers = layersAsked(catalog, asked, 'LAYERS').map(({ layer }) => layer);
    for (const layer of layers) await refuseStrangers(exchange, layer);
    return documents[kind].about(exchange, layers);
  };
}
