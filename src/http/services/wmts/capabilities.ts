import type { GridLevel, GridSet } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer, Legend } from '../../../domain/layer.ts';
import type { ServiceDescription } from '../../../domain/service-description.ts';
import { remembered } from '../../../lib/get-or-create.ts';
import { escapeXml } from '../../../lib/xml/write-xml.ts';
import { EMPTY, type Html as Markup, html as markup, tagged } from '../../page.ts';
import { extendedCapabilities } from '../inspire.ts';
import { BASE, type DocumentWriter } from '../layer-documents.ts';
import {
  type Dimension,
  dimensionsOf,
  extentsByCrs,
  geographicExtent,
  legendAddress,
  legendsOf,
  stylesOf,
  titleOf,
} from '../layer-facts.ts';
import { pathDimensions } from './get-tile.ts';
import { type CrsNames, corners, type GridSetCrs, ogcScale, position } from './grid-set-crs.ts';

const NAMESPACES = markup`xmlns="http://www.opengis.net/wmts/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wmts/1.0 http://schemas.opengis.net/wmts/1.0/wmtsGetCapabilities_response.xsd"`;

export function createCapabilitiesWriter(crsOf: CrsNames): DocumentWriter {
  return function* (layers, service) {
    yield `<?xml version="1.0" encoding="UTF-8"?>\n<Capabilities ${NAMESPACES.markup} version="1.0.0">\n`;
    yield `${serviceSection(service).markup}\n<Contents>\n`;
    for (const layer of layers) yield* describeLayer(layer, crsOf);
    for (const { gridSet, zoomStop } of gridSetsOf(layers)) {
      yield `${describeMatrixSet(gridSet, zoomStop, crsOf(gridSet)).markup}\n`;
    }
    yield `</Contents>\n${metadataAddresses().markup}\n</Capabilities>\n`;
  };
}

/** With the deepest zoom that any layer offers. */
function gridSetsOf(layers: readonly Layer[]) {
  const byName = new Map<string, Pick<GridSubset, 'gridSet' | 'zoomStop'>>();
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
${tagged('ows:Fees', service.fees)}${tagged('ows:AccessConstraints', service.accessConstraints)}</ows:ServiceIdentification>
${provider(service)}<ows:OperationsMetadata>
${['GetCapabilities', 'GetTile', 'GetFeatureInfo'].map(operation)}
${extendedCapabilities(service, 'wmts')}</ows:OperationsMetadata>`;
}

function keywords({ keywords: words }: { readonly keywords: readonly string[] }): Markup {
  if (words.length === 0) return EMPTY;
  return markup`<ows:Keywords>${words.map((word) => tagged('ows:Keyword', word))}</ows:Keywords>\n`;
}

/** OGC 06-121r3, table 15: a provider has a name and a contact. */
function provider({ providerName, providerSite, contact }: ServiceDescription): Markup {
  if (providerName === null) return EMPTY;
  const site = providerSite === null ? EMPTY : markup`<ows:ProviderSite xlink:href="${providerSite}"/>`;
  return markup`<ows:ServiceProvider><ows:ProviderName>${providerName}</ows:ProviderName>${site}<ows:ServiceContact>
${tagged('ows:IndividualName', contact.individualName ?? null)}${tagged('ows:PositionName', contact.positionName ?? null)}${contactInfo(contact)}</ows:ServiceContact></ows:ServiceProvider>\n`;
}

/** OGC 06-121r3, figure 8; in the order of its schema. */
function contactInfo(contact: ServiceDescription['contact']): Markup {
  const list = (names: readonly (readonly [string, string | undefined])[]) =>
    names.flatMap(([name, text]) => (text === undefined ? [] : [tagged(`ows:${name}`, text)]));
  const phone = list([
    ['Voice', contact.phoneNumber],
    ['Facsimile', contact.faxNumber],
  ]);
  const address = list([
    ['DeliveryPoint', contact.addressStreet],
    ['City', contact.addressCity],
    ['AdministrativeArea', contact.addressAdministrativeArea],
    ['PostalCode', contact.addressPostalCode],
    ['Country', contact.addressCountry],
    ['ElectronicMailAddress', contact.addressEmail],
  ]);
  if (phone.length + address.length === 0) return EMPTY;
  return markup`<ows:ContactInfo>${phone.length > 0 ? markup`<ows:Phone>${phone}</ows:Phone>` : EMPTY}${address.length > 0 ? markup`<ows:Address>${address}</ows:Address>` : EMPTY}</ows:ContactInfo>`;
}

function operation(name: string): Markup {
  return markup`<ows:Operation name="${name}"><ows:DCP><ows:HTTP><ows:Get xlink:href="${BASE}/service/wmts?"><ows:Constraint name="GetEncoding"><ows:AllowedValues><ows:Value>KVP</ows:Value></ows:AllowedValues></ows:Constraint></ows:Get></ows:HTTP></ows:DCP></ows:Operation>`;
}

function metadataAddresses(): Markup {
  return markup`<ServiceMetadataURL xlink:href="${BASE}/service/wmts?SERVICE=WMTS&amp;VERSION=1.0.0&amp;REQUEST=GetCapabilities"/>
<ServiceMetadataURL xlink:href="${BASE}/service/wmts/rest/WMTSCapabilities.xml"/>`;
}

/**
 * OGC 07-057r7, tables 13 and 14; in the order of its schema. Without levels deeper than `zoomStop`: some clients request
 * the deepest level of a grid set whatever the limits of the layer.
 */
function describeMatrixSet(gridSet: GridSet, zoomStop: number, crs: GridSetCrs): Markup {
  const { wellKnownScaleSet: scaleSet } = crs;
  return markup`<TileMatrixSet>
<ows:Identifier>${gridSet.name}</ows:Identifier>
<ows:SupportedCRS>${crs.urn}</ows:SupportedCRS>
${tagged('WellKnownScaleSet', scaleSet)}
${gridSet.levels.slice(0, zoomStop + 1).map((level) => matrix(gridSet, level, crs))}
</TileMatrixSet>`;
}

function matrix(gridSet: GridSet, level: GridLevel, crs: GridSetCrs): Markup {
  const corner = position(crs, gridSet.extent.minX, level.top);
  return markup`<TileMatrix><ows:Identifier>${level.name}</ows:Identifier><ScaleDenominator>${ogcScale(gridSet, level)}</ScaleDenominator><TopLeftCorner>${corner}</TopLeftCorner><TileWidth>${gridSet.tileWidth}</TileWidth><TileHeight>${gridSet.tileHeight}</TileHeight><MatrixWidth>${level.columns}</MatrixWidth><MatrixHeight>${level.rows}</MatrixHeight></TileMatrix>`;
}

/** OGC 07-057r7, table 6; in the order of its schema. */
function* describeLayer(layer: Layer, crsOf: CrsNames): Generator<string, void> {
  const dimensions = dimensionsOf(layer);
  yield markup`<Layer>
<ows:Title>${titleOf(layer)}</ows:Title>
${tagged('ows:Abstract', layer.description || null)}
${keywords(layer)}${wgs84Box(layer)}
<ows:Identifier>${layer.name}</ows:Identifier>
${boundingBoxes(layer, crsOf)}
${layer.metadata.map(({ url }) => markup`<ows:Metadata xlink:href="${url}"/>`)}
${stylesOf(layer).map((name, index) => style(layer, name, index === 0))}
${layer.formats.map(({ mediaType }) => markup`<Format>${mediaType}</Format>`)}
${layer.infoFormats.map((mediaType) => markup`<InfoFormat>${mediaType}</InfoFormat>`)}
`.markup;
  for (const dimension of dimensions) yield* describeDimension(dimension);
  yield markup`${layer.gridSubsets.map(matrixSetLink)}
${layer.formats.map(({ mediaType }) => resourceUrl(layer, TILE, mediaType, dimensions))}
${layer.infoFormats.map((mediaType) => resourceUrl(layer, FEATURE_INFO, mediaType, dimensions))}
</Layer>
`.markup;
}

function style(layer: Layer, name: string, isDefault: boolean): Markup {
  const legends = legendsOf(layer, name, isDefault).map((legend) => legendUrl(layer, legend));
  return markup`<Style isDefault="${String(isDefault)}"><ows:Identifier>${name}</ows:Identifier>${legends}</Style>`;
}

/** OGC 07-057r7, table 7. */
function legendUrl(layer: Layer, legend: Legend): Markup {
  const numbers = {
    minScaleDenominator: legend.minScale,
    maxScaleDenominator: legend.maxScale,
    width: legend.width,
    height: legend.height,
  };
  const known = Object.entries(numbers).filter(([, value]) => value !== null);
  const attributes = { markup: known.map(([name, value]) => ` ${name}="${value}"`).join('') };
  return markup`<LegendURL format="${legend.format}"${attributes} xlink:href="${legendAddress(layer, legend)}"/>`;
}

/** Value by value: a source may list a hundred thousand times. */
function* describeDimension({ name, defaultValue, values, times }: Dimension): Generator<string, void> {
  const current = times?.followsLatest ? markup`<Current>true</Current>` : EMPTY;
  yield markup`<Dimension><ows:Identifier>${name}</ows:Identifier>${tagged('ows:UOM', times && 'ISO8601')}${tagged('Default', defaultValue || null)}${current}`
    .markup;
  for (const [index, value] of values.entries()) {
    yield `${index === 0 ? '' : '\n'}<Value>${escapeXml(value)}</Value>`;
  }
  yield '</Dimension>\n';
}

function boundingBoxes(layer: Layer, crsOf: CrsNames): readonly Markup[] {
  const named = ({ gridSet }: GridSubset) => [[crsOf(gridSet).urn, crsOf(gridSet)] as const];
  return extentsByCrs(layer, named).map(({ crs, bounds }) => {
    const [lower, upper] = corners(crs, bounds);
    return markup`<ows:BoundingBox crs="${crs.urn}"><ows:LowerCorner>${lower}</ows:LowerCorner><ows:UpperCorner>${upper}</ows:UpperCorner></ows:BoundingBox>`;
  });
}

/** Empty if no grid set can be converted to degrees. */
function wgs84Box(layer: Layer): Markup {
  const box = geographicExtent(layer);
  if (!box) return EMPTY;
  const [west, south, east, north] = box;
  return markup`<ows:WGS84BoundingBox><ows:LowerCorner>${west} ${south}</ows:LowerCorner><ows:UpperCorner>${east} ${north}</ows:UpperCorner></ows:WGS84BoundingBox>`;
}

const matrixSetLink = remembered(
  (subset: GridSubset) =>
    markup`<TileMatrixSetLink><TileMatrixSet>${subset.gridSet.name}</TileMatrixSet>${matrixLimits(subset)}</TileMatrixSetLink>`,
);

/** Written without `markup`: a thousand layers have a hundred thousand lines. */
function matrixLimits({ gridSet, zoomStart, coverages }: GridSubset): Markup {
  const names = escapedLevelNames(gridSet);
  const lines = coverages.map((coverage, offset) => {
    if (!coverage) return '';
    const { minX, minY, maxX, maxY } = coverage;
    return `<TileMatrixLimits><TileMatrix>${names[zoomStart + offset]}</TileMatrix><MinTileRow>${minY}</MinTileRow><MaxTileRow>${maxY}</MaxTileRow><MinTileCol>${minX}</MinTileCol><MaxTileCol>${maxX}</MaxTileCol></TileMatrixLimits>`;
  });
  return { markup: `<TileMatrixSetLimits>${lines.join('')}</TileMatrixSetLimits>` };
}

const escapedLevelNames = remembered(({ levels }: GridSet) => levels.map(({ name }) => escapeXml(name)));

interface Resource {
  readonly type: string;
  readonly place: string;
}

const TILE: Resource = { type: 'tile', place: '{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}' };
const FEATURE_INFO: Resource = { type: 'FeatureInfo', place: `${TILE.place}/{J}/{I}` };

function resourceUrl(
  layer: Layer,
  { type, place }: Resource,
  mediaType: string,
  dimensions: readonly Dimension[],
): Markup {
  const inPath = pathDimensions(layer).map(({ name }) => `{${name}}/`);
  const inQuery = inPath.length > 0 ? [] : dimensions.map(({ name }) => `${name}={${name}}`);
  const query = [`format=${mediaType}`, ...inQuery].join('&');
  const path = `${encodeURIComponent(layer.name)}/{style}/${inPath.join('')}${place}`;
  const template = `/service/wmts/rest/${path}?${query}`;
  return markup`<ResourceURL format="${mediaType}" resourceType="${type}" template="${BASE}${template}"/>`;
}
