import { levelOf } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import { INFO_FORMATS, type Layer } from '../../../domain/layer.ts';
import type { ServiceDescription } from '../../../domain/service-description.ts';
import { MAX_MAP_SIDE } from '../../../pipeline/map-composer.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { BASE, type DocumentWriter } from '../document-template.ts';
import { boxElement, describeWmsLayer } from './layer-description.ts';
import { MAX_LAYERS } from './map-asked.ts';
import { crsNames } from './wms-crs.ts';
import type { WmsVersion } from './wms-version.ts';

const NAMESPACES =
  'xmlns="http://www.opengis.net/wms" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wms http://schemas.opengis.net/wms/1.3.0/capabilities_1_3_0.xsd"';
const DTD = 'http://schemas.opengis.net/wms/1.1.1/capabilities_1_1_1.dtd';

const EXCEPTIONS: Readonly<Record<WmsVersion, readonly string[]>> = {
  '1.1.1': ['application/vnd.ogc.se_xml', 'application/vnd.ogc.se_inimage', 'application/vnd.ogc.se_blank'],
  '1.3.0': ['XML', 'INIMAGE', 'BLANK'],
};

export function createWmsCapabilitiesWriter(version: WmsVersion, tileSets: boolean): DocumentWriter {
  return function* (layers, about) {
    yield `<?xml version="1.0" encoding="UTF-8"?>\n${opening(version).join('\n')}\n`;
    yield `${service(version, about).markup}\n<Capability>\n${requests(layers, version).markup}\n`;
    yield markup`<Exception>${EXCEPTIONS[version].map(format)}</Exception>`.markup;
    if (tileSets) yield '\n<VendorSpecificCapabilities>';
    for (const layer of tileSets ? layers : []) yield `\n${describeTileSets(layer).markup}`;
    if (tileSets) yield '\n</VendorSpecificCapabilities>';
    yield '\n<Layer>\n<Title>Tilewarden</Title>\n';
    for (const layer of layers) yield `${describeWmsLayer(layer, version).markup}\n`;
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
    : markup``;
  return markup`<Service><Name>${newer ? 'WMS' : 'OGC:WMS'}</Name><Title>${about.title}</Title><Abstract>${about.description}</Abstract>${keywordList(about)}${address()}${optional('Fees', about.fees)}${optional('AccessConstraints', about.accessConstraints)}${limits}</Service>`;
}

function keywordList({ keywords }: ServiceDescription): Markup {
  if (keywords.length === 0) return markup``;
  return markup`<KeywordList>${keywords.map((word) => markup`<Keyword>${word}</Keyword>`)}</KeywordList>`;
}

function optional(name: string, text: string | null): Markup {
  const tag: Markup = { markup: name };
  return text === null ? markup`` : markup`<${tag}>${text}</${tag}>`;
}

function requests(layers: readonly Layer[], version: WmsVersion): Markup {
  const formats = [...new Set(layers.flatMap((layer) => layer.formats.map(({ mediaType }) => mediaType)))];
  const infoFormats = INFO_FORMATS.filter((name) => layers.some((layer) => layer.infoFormats.includes(name)));
  const own = version === '1.3.0' ? 'text/xml' : 'application/vnd.ogc.wms_xml';
  return markup`<Request>
${operation('GetCapabilities', [own])}
${operation('GetMap', formats.length > 0 ? formats : ['image/png'])}
${infoFormats.length > 0 ? operation('GetFeatureInfo', infoFormats) : markup``}
</Request>`;
}

function operation(name: string, formats: readonly string[]): Markup {
  const tag: Markup = { markup: name };
  return markup`<${tag}>${formats.map(format)}<DCPType><HTTP><Get>${address()}</Get></HTTP></DCPType></${tag}>`;
}

function format(name: string): Markup {
  return markup`<Format>${name}</Format>`;
}

function address(): Markup {
  return markup`<OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:href="${BASE}/service/wms?"/>`;
}

/** What the DTD of 1.1.1 leaves to us, as WMS-C clients know it. */
const TILE_SET_DTD = [
  '<!ELEMENT VendorSpecificCapabilities (TileSet*)>',
  '<!ELEMENT TileSet (SRS, BoundingBox?, Resolutions, Width, Height, Format, Layers*, Styles*)>',
  '<!ELEMENT Resolutions (#PCDATA)>',
  '<!ELEMENT Width (#PCDATA)>',
  '<!ELEMENT Height (#PCDATA)>',
  '<!ELEMENT Layers (#PCDATA)>',
  '<!ELEMENT Styles (#PCDATA)>',
].join('\n');

/** WMS-C: the grids in which a layer can be asked for tiles, under each name of their CRS. */
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

/** The grid's own extent is where its tiles are counted from. */
function describeGrid(subset: GridSubset, name: string): Markup {
  const { extent, tileWidth, tileHeight } = subset.gridSet;
  const box = boxElement('1.1.1', name, extent);
  return markup`<SRS>${name}</SRS>${box}<Resolutions>${resolutions(subset)}</Resolutions><Width>${tileWidth}</Width><Height>${tileHeight}</Height>`;
}

function resolutions({ gridSet, zoomStart, coverages }: GridSubset): string {
  return coverages.map((_, offset) => levelOf(gridSet, zoomStart + offset).resolution).join(' ');
}
