import type { GridSet } from '../../../domain/grid-set.ts';
import type { Layer } from '../../../domain/layer.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { BASE, type DocumentWriter } from '../document-template.ts';
import type { CrsNames } from './grid-set-crs.ts';
import { describeLayer } from './layer-section.ts';
import { describeMatrixSet } from './matrix-set-section.ts';

const NAMESPACES = markup`xmlns="http://www.opengis.net/wmts/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wmts/1.0 http://schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd"`;

export function createCapabilitiesWriter(crsOf: CrsNames): DocumentWriter {
  return function* (layers) {
    yield `<?xml version="1.0" encoding="UTF-8"?>\n<Capabilities ${NAMESPACES.markup} version="1.0.0">\n`;
    yield `${serviceSection().markup}\n<Contents>\n`;
    for (const layer of layers) yield `${describeLayer(layer, crsOf).markup}\n`;
    for (const { gridSet, zoomStop } of gridSetsOf(layers)) {
      yield `${describeMatrixSet(gridSet, zoomStop, crsOf(gridSet)).markup}\n`;
    }
    yield `</Contents>\n${metadataAddresses().markup}\n</Capabilities>\n`;
  };
}

interface UsedGridSet {
  readonly gridSet: GridSet;
  /** The deepest that any layer offers. */
  readonly zoomStop: number;
}

function gridSetsOf(layers: readonly Layer[]): readonly UsedGridSet[] {
  const byName = new Map<string, UsedGridSet>();
  for (const { gridSet, zoomStop } of layers.flatMap(({ gridSubsets }) => gridSubsets)) {
    const known = byName.get(gridSet.name)?.zoomStop ?? 0;
    byName.set(gridSet.name, { gridSet, zoomStop: Math.max(known, zoomStop) });
  }
  return [...byName.values()];
}

function serviceSection(): Markup {
  return markup`<ows:ServiceIdentification>
<ows:Title>Tilewarden</ows:Title>
<ows:Abstract>Map tiles from a cache</ows:Abstract>
<ows:ServiceType>OGC WMTS</ows:ServiceType>
<ows:ServiceTypeVersion>1.0.0</ows:ServiceTypeVersion>
</ows:ServiceIdentification>
<ows:OperationsMetadata>
${['GetCapabilities', 'GetTile', 'GetFeatureInfo'].map(operation)}
</ows:OperationsMetadata>`;
}

function operation(name: string): Markup {
  return markup`<ows:Operation name="${name}"><ows:DCP><ows:HTTP><ows:Get xlink:href="${BASE}/service/wmts?"><ows:Constraint name="GetEncoding"><ows:AllowedValues><ows:Value>KVP</ows:Value></ows:AllowedValues></ows:Constraint></ows:Get></ows:HTTP></ows:DCP></ows:Operation>`;
}

function metadataAddresses(): Markup {
  return markup`<ServiceMetadataURL xlink:href="${BASE}/service/wmts?SERVICE=WMTS&amp;VERSION=1.0.0&amp;REQUEST=GetCapabilities"/>
<ServiceMetadataURL xlink:href="${BASE}/service/wmts/rest/WMTSCapabilities.xml"/>`;
}
