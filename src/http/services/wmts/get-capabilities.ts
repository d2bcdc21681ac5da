import type { Catalog } from '../../../catalog/catalog.ts';
import type { Answer } from '../../answer.ts';
import { refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import type { Kvp } from '../kvp.ts';
import type { DocumentAnswerer, LayerDocument } from '../layer-documents.ts';
import { OwsException } from '../ows-exception.ts';
import { createCapabilitiesWriter } from './capabilities.ts';
import { layerAsked } from './get-tile.ts';
import { createCrsNames } from './grid-set-crs.ts';

const VERSION = '1.0.0';

/** All layers that the caller may see, or the one in `LAYER`; who names one that they may not see is told. */
export function createGetCapabilities(
  catalog: Pick<Catalog, 'layer'>,
  documentOf: (document: LayerDocument) => DocumentAnswerer,
) {
  const document = documentOf({
    write: createCapabilitiesWriter(createCrsNames()),
    contentType: 'text/xml; charset=utf-8',
    fileName: 'wmts-getcapabilities.xml',
  });

  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    checkVersions(asked);
    if (asked('LAYER') === null) return document.aboutAll(exchange);
    const { layer } = layerAsked(catalog, asked);
    await refuseStrangers(exchange, layer);
    return document.about(exchange, [layer]);
  };
}

/** OGC 06-121r3, 7.3.2: a client that speaks no version of ours is told so; one that says nothing gets what there is. */
function checkVersions(asked: Kvp): void {
  const accepted = asked('ACCEPTVERSIONS');
  if (accepted === null || accepted.split(',').some((version) => version.trim() === VERSION)) return;
  throw new OwsException('VersionNegotiationFailed', null, `The only version spoken here is ${VERSION}.`);
}
