import type { Bounds } from '../../../domain/bounds.ts';
import { type GridSet, levelOf, namesNorthingFirst } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import {
  INFO_FORMATS,
  type Layer,
  type LayerGroup,
  type LayerGroups,
  type Legend,
  membersOf,
} from '../../../domain/layer.ts';
import type { ServiceDescription } from '../../../domain/service-description.ts';
import { sameSrs } from '../../../domain/srs.ts';
import { MAX_MAP_SIDE } from '../../../pipeline/map-composer.ts';
import { EMPTY, type Html as Markup, html as markup, tagged } from '../../page.ts';
import { extendedCapabilities } from '../inspire.ts';
import { BASE, type DocumentWriter } from '../layer-documents.ts';
import {
  dimensionsOf,
  extentsByCrs,
  geographicExtent,
  legendAddress,
  legendsOf,
  stylesOf,
  titleOf,
  warpedExtents,
} from '../layer-facts.ts';
import {
  crsNames,
  crsOfLayer,
  isDimension,
  isYFirst,
  MAP_FORMATS,
  MAX_LAYERS,
  type WmsVersion,
} from './map-request.ts';

const NAMESPACES =
  'xmlns="http://www.opengis.net/wms" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wms http://schemas.opengis.net/wms/1.3.0/capabilities_1_3_0.xsd"';
const DTD = 'http://schemas.opengis.net/wms/1.1.1/capabilities_1_1_1.dtd';

const EXCEPTIONS: Readonly<Record<WmsVersion, readonly string[]>> = {
  '1.1.1': ['application/vnd.ogc.se_xml', 'application/vnd.ogc.se_inimage', 'application/vnd.ogc.se_blank'],
  '1.3.0': ['XML', 'INIMAGE', 'BLANK'],
};

export function createWmsCapabilitiesWriter(
  version: WmsVersion,
  tileSets: boolean,
  groups: LayerGroups,
): DocumentWriter {
  return function* (layers, about) {
    yield `<?xml version="1.0" encoding="UTF-8"?>\n${opening(version).join('\n')}\n`;
    yield `${service(version, about).markup}\n<Capability>\n${requests(layers, version).markup}\n`;
    yield markup`<Exception>${EXCEPTIONS[version].map(format)}</Exception>`.markup;
    if (tileSets) yield '\n<VendorSpecificCapabilities>';
    for (const layer of tileSets ? layers : []) yield `\n${describeTileSets(layer).markup}`;
    if (tileSets) yield '\n</VendorSpecificCapabilities>';
    if (version === '1.3.0') yield extendedCapabilities(about, 'wms').markup;
    yield '\n<Layer>\n<Title>Tilewarden</Title>\n';
    yield* describeTree(layers, groups, version);
    const name = version === '1.3.0' ? 'WMS_Capabilities' : 'WMT_MS_Capabilities';
    yield `</Layer>\n</Capability>\n</${name}>\n`;
  };
}

function opening(version: WmsVersion): readonly string[] {
  if (version === '1.3.0') return [`<WMS_Capabilities version="1.3.0" ${NAMESPACES}>`];
  return [
    `<!DOCTYPE WMT_MS_Capabilities SYSTEM "${DTD}" [\n${TILE_SET_DTD}\n]>`,
    '<WMT_MS_Capabilities version="1.1.1">',
  ];
}

function service(version: WmsVersion, about: ServiceDescription): Markup {
  const newer = version === '1.3.0';
  const limits = newer
    ? markup`<LayerLimit>${MAX_LAYERS}</LayerLimit><MaxWidth>${MAX_MAP_SIDE}</MaxWidth><MaxHeight>${MAX_MAP_SIDE}</MaxHeight>`
    : EMPTY;
  return markup`<Service><Name>${newer ? 'WMS' : 'OGC:WMS'}</Name><Title>${about.title}</Title><Abstract>${about.description}</Abstract>${keywordList(about)}${address()}${contactInformation(about)}${tagged('Fees', about.fees)}${tagged('AccessConstraints', about.accessConstraints)}${limits}</Service>`;
}

/** WMS 1.3.0, 7.2.3; in the order of the schema and of the DTD. */
function contactInformation({ contact, providerName }: ServiceDescription): Markup {
  if (providerName === null && Object.keys(contact).length === 0) return EMPTY;
  const address = [
    ['AddressType', contact.addressType ?? 'postal'],
    ['Address', contact.addressStreet],
    ['City', contact.addressCity],
    ['StateOrProvince', contact.addressAdministrativeArea],
    ['PostCode', contact.addressPostalCode],
    ['Country', contact.addressCountry],
  ] as const;
  const hasAddress = address.slice(1).some(([, text]) => text !== undefined);
  const place = address.map(([name, text]) => tagged(name, text ?? ''));
  return markup`<ContactInformation><ContactPersonPrimary>${tagged('ContactPerson', contact.individualName ?? '')}${tagged('ContactOrganization', providerName ?? '')}</ContactPersonPrimary>${tagged('ContactPosition', contact.positionName ?? null)}${hasAddress ? markup`<ContactAddress>${place}</ContactAddress>` : EMPTY}${tagged('ContactVoiceTelephone', contact.phoneNumber ?? null)}${tagged('ContactFacsimileTelephone', contact.faxNumber ?? null)}${tagged('ContactElectronicMailAddress', contact.addressEmail ?? null)}</ContactInformation>`;
}

function keywordList({ keywords }: { readonly keywords: readonly string[] }): Markup {
  if (keywords.length === 0) return EMPTY;
  return markup`<KeywordList>${keywords.map((word) => tagged('Keyword', word))}</KeywordList>`;
}

function requests(layers: readonly Layer[], version: WmsVersion): Markup {
  const own = layers.flatMap((layer) => layer.formats.map(({ mediaType }) => mediaType));
  const formats = [...new Set([...own, ...MAP_FORMATS])];
  const infoFormats = INFO_FORMATS.filter((name) => layers.some((layer) => layer.infoFormats.includes(name)));
  const documentType = version === '1.3.0' ? 'text/xml' : 'application/vnd.ogc.wms_xml';
  return markup`<Request>
${operation('GetCapabilities', [documentType])}
${operation('GetMap', formats)}
${infoFormats.length > 0 ? operation('GetFeatureInfo', infoFormats) : EMPTY}
</Request>`;
}

function operation(name: string, formats: readonly string[]): Markup {
  const tag: Markup = { markup: name };
  return markup`<${tag}>${formats.map(format)}<DCPType><HTTP><Get>${address()}</Get></HTTP></DCPType></${tag}>`;
}

function address(): Markup {
  return online(markup`${BASE}/service/wms?`);
}

function format(name: string): Markup {
  return tagged('Format', name);
}

/** The DTD extension of WMS-C. */
const TILE_SET_DTD = [
  '<!ELEMENT VendorSpecificCapabilities (TileSet*)>',
  '<!ELEMENT TileSet (SRS, BoundingBox?, Resolutions, Width, Height, Format, Layers*, Styles*)>',
  '<!ELEMENT Resolutions (#PCDATA)>',
  '<!ELEMENT Width (#PCDATA)>',
  '<!ELEMENT Height (#PCDATA)>',
  '<!ELEMENT Layers (#PCDATA)>',
  '<!ELEMENT Styles (#PCDATA)>',
].join('\n');

/** WMS-C: the grids of a layer's tiles, under each name of their CRS. */
function describeTileSets(layer: Layer): Markup {
  const sets = layer.gridSubsets.flatMap((subset) =>
    crsNames(subset.gridSet, '1.1.1').flatMap((name) => {
      const grid = describeGrid(subset, name);
      return layer.formats.map(
        ({ mediaType }) =>
          markup`<TileSet>${grid}<Format>${mediaType}</Format><Layers>${layer.name}</Layers><Styles></Styles></TileSet>`,
      );
    }),
  );
  return { markup: sets.map((set) => set.markup).join('\n') };
}

/** The box is that of the grid, from which tiles are counted, not of the layer. */
function describeGrid(subset: GridSubset, name: string): Markup {
  const { extent, tileWidth, tileHeight } = subset.gridSet;
  const box = boxElement('1.1.1', name, extent);
  return markup`<SRS>${name}</SRS>${box}<Resolutions>${resolutions(subset)}</Resolutions><Width>${tileWidth}</Width><Height>${tileHeight}</Height>`;
}

function resolutions({ gridSet, zoomStart, coverages }: GridSubset): string {
  return coverages.map((_, offset) => levelOf(gridSet, zoomStart + offset).resolution).join(' ');
}

const CRS84 = 'CRS:84';
/** In metres on a screen, with pixels of 0.28 mm. */
const PIXEL_DIAGONAL = 0.00028 * Math.SQRT2;

/** WMS 1.3.0, 7.2.4, and WMS 1.1.1, annex A.1; in the order of the schema and of the DTD. */
function describeWmsLayer(layer: Layer, version: WmsVersion): Markup {
  return markup`<Layer queryable="${layer.infoFormats.length > 0 ? '1' : '0'}">
<Name>${layer.name}</Name>
<Title>${titleOf(layer)}</Title>
${tagged('Abstract', layer.description || null)}
${keywordList(layer)}
${crsList(layer, version)}
${geographicBox(layer, version)}
${boundingBoxes(layer, version)}
${dimensions(layer, version)}
${layer.attribution === '' ? EMPTY : markup`<Attribution><Title>${layer.attribution}</Title></Attribution>`}
${identifier(layer)}
${layer.metadata.map((document) => metadataUrl(document, version))}
${stylesOf(layer).map((name, index) => style(layer, name, index === 0))}
${scaleElements(layer, version)}
</Layer>`;
}

/** WMS 1.3.0, 7.2.4.6.12. */
function identifier({ identifier: id }: Layer): Markup {
  if (id === null) return EMPTY;
  return markup`<AuthorityURL name="${id.authority}">${online(id.url)}</AuthorityURL><Identifier authority="${id.authority}">${id.value}</Identifier>`;
}

/** WMS 1.1.1, 7.1.4.5.10, has two names only. */
const OLD_METADATA: Readonly<Record<string, string>> = { 'FGDC:1998': 'FGDC' };

function metadataUrl({ url, type, format: media }: Layer['metadata'][number], version: WmsVersion): Markup {
  const name = version === '1.3.0' ? type : (OLD_METADATA[type] ?? 'TC211');
  return markup`<MetadataURL type="${name}">${format(media)}${online(url)}</MetadataURL>`;
}

function online(url: string | Markup): Markup {
  return markup`<OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:href="${url}"/>`;
}

/** WMS 1.3.0, 7.2.4.6.9, and WMS 1.1.1, 7.1.4.5.8: in 1.1.1 the diagonal of a pixel, in metres. */
function scaleElements({ gridSubsets: [{ scales }] }: Layer, version: WmsVersion): Markup {
  if (!scales) return EMPTY;
  const [min, max] = scales;
  if (version === '1.1.1') {
    return markup`<ScaleHint min="${min * PIXEL_DIAGONAL}" max="${max * PIXEL_DIAGONAL}"/>`;
  }
  const upper = max === Infinity ? EMPTY : markup`<MaxScaleDenominator>${max}</MaxScaleDenominator>`;
  return markup`<MinScaleDenominator>${min}</MinScaleDenominator>${upper}`;
}

/** Groups with their visible layers, then the layers outside groups. */
function* describeTree(
  layers: readonly Layer[],
  groups: LayerGroups,
  version: WmsVersion,
): Generator<string, void> {
  const byName = new Map(layers.map((layer) => [layer.name, layer]));
  const children = new Set(Array.from(groups.values(), (group) => group.layers).flat());

  function* describe(name: string): Generator<string, void> {
    const layer = byName.get(name);
    if (layer) yield `${describeWmsLayer(layer, version).markup}\n`;
    const group = layer ? undefined : groups.get(name);
    const members = membersOf(groups, name)?.flatMap((member) => byName.get(member) ?? []) ?? [];
    if (!group || members.length === 0) return;
    yield `<Layer>\n${describeGroup(group, members, version).markup}\n`;
    for (const child of group.layers) yield* describe(child);
    yield '</Layer>\n';
  }

  for (const name of [...groups.keys(), ...byName.keys()]) if (!children.has(name)) yield* describe(name);
}

/** In the CRS common to all of its layers. Without one the group has no map, and so no name. */
function describeGroup(
  { name, title = name }: LayerGroup,
  members: readonly Layer[],
  version: WmsVersion,
): Markup {
  const isCommon = (srs: number) => members.every((member) => isAvailableIn(member, srs));
  const subsets = members.flatMap(({ gridSubsets }) => gridSubsets);
  const [first, ...others] = subsets.filter(({ gridSet }) => isCommon(gridSet.srs));
  const [layer] = members;
  if (!first || !layer) return tagged('Title', title);
  const wmsCrs = [...new Set(members.flatMap((member) => member.wmsCrs))].filter(
    (code) => isCommon(code) && ![first, ...others].some(({ gridSet }) => sameSrs(gridSet.srs, code)),
  );
  const joined: Layer = { ...layer, gridSubsets: [first, ...others], wmsCrs };
  return markup`<Name>${name}</Name>
<Title>${title}</Title>
${crsList(joined, version)}
${geographicBox(joined, version)}
${boundingBoxes(joined, version)}`;
}

function isAvailableIn({ gridSubsets, wmsCrs }: Layer, srs: number): boolean {
  return [...gridSubsets.map(({ gridSet }) => gridSet.srs), ...wmsCrs].some((code) => sameSrs(code, srs));
}

function style(layer: Layer, name: string, isDefault: boolean): Markup {
  const legends = legendsOf(layer, name, isDefault).map((legend) => legendUrl(layer, legend));
  return markup`<Style><Name>${name}</Name><Title>${name}</Title>${legends}</Style>`;
}

/** WMS 1.3.0, 7.2.4.6.5: a legend without its size is left out. */
function legendUrl(layer: Layer, legend: Legend): Markup {
  if (legend.width === null || legend.height === null) return EMPTY;
  return markup`<LegendURL width="${legend.width}" height="${legend.height}"><Format>${legend.format}</Format>${online(legendAddress(layer, legend))}</LegendURL>`;
}

function crsList(layer: Layer, version: WmsVersion): readonly Markup[] {
  return crsOfLayer(layer, version).map((name) => tagged(version === '1.3.0' ? 'CRS' : 'SRS', name));
}

function geographicBox(layer: Layer, version: WmsVersion): Markup {
  const box = geographicExtent(layer);
  if (!box) return EMPTY;
  const [west, south, east, north] = box;
  if (version === '1.1.1')
    return markup`<LatLonBoundingBox minx="${west}" miny="${south}" maxx="${east}" maxy="${north}"/>`;
  return markup`<EX_GeographicBoundingBox><westBoundLongitude>${west}</westBoundLongitude><eastBoundLongitude>${east}</eastBoundLongitude><southBoundLatitude>${south}</southBoundLatitude><northBoundLatitude>${north}</northBoundLatitude></EX_GeographicBoundingBox>`;
}

function boundingBoxes(layer: Layer, version: WmsVersion): readonly Markup[] {
  const named = (crs: Pick<GridSet, 'srs' | 'yCoordinateFirst'>) =>
    crsNames(crs, version).map((name) => {
      const yFirst = isYFirst(crs, { longitudeFirst: name === CRS84 }, version);
      return [name, { name, yFirst }] as const;
    });
  const own = extentsByCrs(layer, ({ gridSet }) => named(gridSet));
  const warped = [...warpedExtents(layer)].flatMap(([srs, bounds]) =>
    named({ srs, yCoordinateFirst: namesNorthingFirst(srs) }).map(([, crs]) => ({ crs, bounds })),
  );
  return [...own, ...warped].map(({ crs, bounds }) =>
    boxElement(version, crs.name, crs.yFirst ? swapped(bounds) : bounds),
  );
}

function boxElement(version: WmsVersion, crs: string, { minX, minY, maxX, maxY }: Bounds): Markup {
  const attribute: Markup = { markup: version === '1.3.0' ? 'CRS' : 'SRS' };
  return markup`<BoundingBox ${attribute}="${crs}" minx="${minX}" miny="${minY}" maxx="${maxX}" maxy="${maxY}"/>`;
}

function swapped({ minX, minY, maxX, maxY }: Bounds): Bounds {
  return { minX: minY, minY: minX, maxX: maxY, maxY: maxX };
}

/** WMS 1.3.0, annex C.2. In 1.1.1 the values are in a separate element, `Extent`. */
function dimensions(layer: Layer, version: WmsVersion): readonly Markup[] {
  const listed = dimensionsOf(layer).filter(isDimension);
  const described = listed.map(({ name, defaultValue, values, times }) => ({
    name: name.replace(/^DIM_/, '').toLowerCase(),
    units: name === 'TIME' || times ? 'ISO8601' : '',
    standard: {
      markup: [
        defaultValue === '' ? EMPTY : markup` default="${defaultValue}"`,
        times ? markup` nearestValue="${times.nearest ? '1' : '0'}"` : EMPTY,
        times?.followsLatest ? markup` current="1"` : EMPTY,
      ]
        .map((attribute) => attribute.markup)
        .join(''),
    },
    values: values.join(','),
  }));
  if (version === '1.3.0') {
    return described.map(
      ({ name, units, standard, values }) =>
        markup`<Dimension name="${name}" units="${units}"${standard}>${values}</Dimension>`,
    );
  }
  return [
    ...described.map(({ name, units }) => markup`<Dimension name="${name}" units="${units}"/>`),
    ...described.map(
      ({ name, standard, values }) => markup`<Extent name="${name}"${standard}>${values}</Extent>`,
    ),
  ];
}
