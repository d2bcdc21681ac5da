import type { GridLevel, GridSet } from '../../../domain/grid-set.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { ServiceDescription } from '../../../domain/service-description.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { BASE, type DocumentWriter } from '../document-template.ts';
import { type CrsNames, type GridSetCrs, ogcScale, position } from './grid-set-crs.ts';
import { describeLayer } from './layer-section.ts';

const NAMESPACES = markup`xmlns="http://www.opengis.net/wmts/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wmts/1.0 http://schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd"`;

export function createCapabilitiesWriter(crsOf: CrsNames): DocumentWriter {
  return function* (layers, service) {
    yield `<?xml version="1.0" encoding="UTF-8"?>\n<Capabilities ${NAMESPACES.markup} version="1.0.0">\n`;
    yield `${serviceSection(service).markup}\n<Contents>\n`;
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

function serviceSection(service: ServiceDescription): Markup {
  return markup`<ows:ServiceIdentification>
<ows:Title>${service.title}</ows:Title>
<ows:Abstract>${service.description}</ows:Abstract>
${keywords(service)}<ows:ServiceType>OGC WMTS</ows:ServiceType>
<ows:ServiceTypeVersion>1.0.0</ows:ServiceTypeVersion>
${said('Fees', service.fees)}${said('AccessConstraints', service.accessConstraints)}</ows:ServiceIdentification>
${provider(service)}<ows:OperationsMetadata>
${['GetCapabilities', 'GetTile', 'GetFeatureInfo'].map(operation)}
</ows:OperationsMetadata>`;
}

function keywords({ keywords: words }: ServiceDescription): Markup {
  if (words.length === 0) return markup``;
  return markup`<ows:Keywords>${words.map((word) => said('Keyword', word))}</ows:Keywords>\n`;
}

function said(name: string, text: string | null): Markup {
  const tag: Markup = { markup: `ows:${name}` };
  return text === null ? markup`` : markup`<${tag}>${text}</${tag}>\n`;
}

/** OGC 06-121r3, table 15: a provider has a name and somebody to be asked. */
function provider({ providerName, providerSite, contact }: ServiceDescription): Markup {
  if (providerName === null) return markup``;
  const site = providerSite === null ? markup`` : markup`<ows:ProviderSite xlink:href="${providerSite}"/>`;
  return markup`<ows:ServiceProvider><ows:ProviderName>${providerName}</ows:ProviderName>${site}<ows:ServiceContact>
${said('IndividualName', contact.individualName ?? null)}${said('PositionName', contact.positionName ?? null)}</ows:ServiceContact></ows:ServiceProvider>\n`;
}

function operation(name: string): Markup {
  return markup`<ows:Operation name="${name}"><ows:DCP><ows:HTTP><ows:Get xlink:href="${BASE}/service/wmts?"><ows:Constraint name="GetEncoding"><ows:AllowedValues><ows:Value>KVP</ows:Value></ows:AllowedValues></ows:Constraint></ows:Get></ows:HTTP></ows:DCP></ows:Operation>`;
}

function metadataAddresses(): Markup {
  return markup`<ServiceMetadataURL xlink:href="${BASE}/service/wmts?SERVICE=WMTS&amp;VERSION=1.0.0&amp;REQUEST=GetCapabilities"/>
<ServiceMetadataURL xlink:href="${BASE}/service/wmts/rest/WMTSCapabilities.xml"/>`;
}

/**
 * OGC 07-057r7, tables 13 and 14; in the order of its schema. Levels deeper than `zoomStop` are left out: not every
 * client looks at the limits of a layer before it asks for the deepest level of its grid set.
 */
function describeMatrixSet(gridSet: GridSet, zoomStop: number, crs: GridSetCrs): Markup {
  const { wellKnownScaleSet: scaleSet } = crs;
  const known = scaleSet === null ? [] : [markup`<WellKnownScaleSet>${scaleSet}</WellKnownScaleSet>`];
  return markup`<TileMatrixSet>
<ows:Identifier>${gridSet.name}</ows:Identifier>
<ows:SupportedCRS>${crs.urn}</ows:SupportedCRS>
${known}
${gridSet.levels.slice(0, zoomStop + 1).map((level) => matrix(gridSet, level, crs))}
</TileMatrixSet>`;
}

function matrix(gridSet: GridSet, level: GridLevel, crs: GridSetCrs): Markup {
  const corner = position(crs, gridSet.extent.minX, level.top);
  return markup`<TileMatrix><ows:Identifier>${level.name}</ows:Identifier><ScaleDenominator>${ogcScale(gridSet, level)}</ScaleDenominator><TopLeftCorner>${corner}</TopLeftCorner><TileWidth>${gridSet.tileWidth}</TileWidth><TileHeight>${gridSet.tileHeight}</TileHeight><MatrixWidth>${level.columns}</MatrixWidth><MatrixHeight>${level.rows}</MatrixHeight></TileMatrix>`;
}
