import type { GridSet } from '../../../domain/grid-set.ts';
import type { Layer } from '../../../domain/layer.ts';
import { escapeXml } from '../../../lib/xml/write-xml.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import type { CrsNames } from './grid-set-crs.ts';
import { BASE, describeLayer } from './layer-section.ts';
import { describeMatrixSet } from './matrix-set-section.ts';

/** Writes the document for these layers, with addresses below `base`. */
export type CapabilitiesWriter = (layers: readonly Layer[], base: string) => string;

const NAMESPACES = markup`xmlns="http://www.opengis.net/wmts/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wmts/1.0 http://schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd"`;

/** What is written about a layer is written once, for as long as it lives. */
export function createCapabilitiesWriter(crsOf: CrsNames): CapabilitiesWriter {
  const sections = new WeakMap<Layer, string>();
  const sectionOf = (layer: Layer) => {
    const section = sections.get(layer) ?? describeLayer(layer, crsOf).markup;
    sections.set(layer, section);
    return section;
  };

  return (layers, base) => {
    const document = [
      `<?xml version="1.0" encoding="UTF-8"?>\n<Capabilities ${NAMESPACES.markup} version="1.0.0">`,
      serviceSection().markup,
      '<Contents>',
      ...layers.map(sectionOf),
      ...gridSetsOf(layers).map(
        ({ gridSet, zoomStop }) => describeMatrixSet(gridSet, zoomStop, crsOf(gridSet)).markup,
      ),
      '</Contents>',
      metadataAddresses().markup,
      '</Capabilities>\n',
    ];
    return document.join('\n').replaceAll(BASE.markup, () => escapeXml(base));
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
