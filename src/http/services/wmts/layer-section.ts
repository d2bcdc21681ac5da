import type { GridSet } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer, Legend } from '../../../domain/layer.ts';
import { escapeXml } from '../../../lib/xml/write-xml.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { BASE } from '../document-template.ts';
import { extentsByCrs, geographicExtent } from '../geographic-extent.ts';
import { legendAddress, legendsOf } from '../legend-address.ts';
import { type CrsNames, corners } from './grid-set-crs.ts';
import { type Dimension, dimensionsOf, stylesOf } from './layer-styles.ts';

const NOTHING: Markup = { markup: '' };

/** OGC 07-057r7, table 6; in the order of its schema. */
export function describeLayer(layer: Layer, crsOf: CrsNames): Markup {
  const dimensions = dimensionsOf(layer);
  return markup`<Layer>
<ows:Title>${layer.title === '' ? layer.name : layer.title}</ows:Title>
${layer.description === '' ? NOTHING : markup`<ows:Abstract>${layer.description}</ows:Abstract>`}
${wgs84Box(layer)}
<ows:Identifier>${layer.name}</ows:Identifier>
${boundingBoxes(layer, crsOf)}
${stylesOf(layer).map((name, index) => style(layer, name, index === 0))}
${layer.formats.map(({ mediaType }) => markup`<Format>${mediaType}</Format>`)}
${layer.infoFormats.map((mediaType) => markup`<InfoFormat>${mediaType}</InfoFormat>`)}
${dimensions.map(dimension)}
${layer.gridSubsets.map(matrixSetLink)}
${layer.formats.map(({ mediaType }) => resourceUrl(layer, TILE, mediaType, dimensions))}
${layer.infoFormats.map((mediaType) => resourceUrl(layer, FEATURE_INFO, mediaType, dimensions))}
</Layer>`;
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
  const given = Object.entries(numbers).filter(([, value]) => value !== null);
  const attributes = { markup: given.map(([name, value]) => ` ${name}="${value}"`).join('') };
  return markup`<LegendURL format="${legend.format}"${attributes} xlink:href="${legendAddress(layer, legend)}"/>`;
}

function dimension({ name, defaultValue, values }: Dimension): Markup {
  const standard = defaultValue === '' ? NOTHING : markup`<Default>${defaultValue}</Default>`;
  return markup`<Dimension><ows:Identifier>${name}</ows:Identifier>${standard}${values.map((value) => markup`<Value>${value}</Value>`)}</Dimension>`;
}

function boundingBoxes(layer: Layer, crsOf: CrsNames): readonly Markup[] {
  const named = ({ gridSet }: GridSubset) => [[crsOf(gridSet).urn, crsOf(gridSet)] as const];
  return extentsByCrs(layer, named).map(({ crs, bounds }) => {
    const [lower, upper] = corners(crs, bounds);
    return markup`<ows:BoundingBox crs="${crs.urn}"><ows:LowerCorner>${lower}</ows:LowerCorner><ows:UpperCorner>${upper}</ows:UpperCorner></ows:BoundingBox>`;
  });
}

/** Left out for layers whose grid sets are all in a CRS that we cannot turn into degrees. */
function wgs84Box(layer: Layer): Markup {
  const box = geographicExtent(layer);
  if (!box) return NOTHING;
  const [west, south, east, north] = box;
  return markup`<ows:WGS84BoundingBox><ows:LowerCorner>${west} ${south}</ows:LowerCorner><ows:UpperCorner>${east} ${north}</ows:UpperCorner></ows:WGS84BoundingBox>`;
}

const matrixSetLinks = new WeakMap<GridSubset, Markup>();

function matrixSetLink(subset: GridSubset): Markup {
  const link = matrixSetLinks.get(subset) ?? writeMatrixSetLink(subset);
  matrixSetLinks.set(subset, link);
  return link;
}

function writeMatrixSetLink(subset: GridSubset): Markup {
  return markup`<TileMatrixSetLink><TileMatrixSet>${subset.gridSet.name}</TileMatrixSet>${matrixLimits(subset)}</TileMatrixSetLink>`;
}

/** Written without the help of `markup`: of a thousand layers there are a hundred thousand lines. */
function matrixLimits({ gridSet, zoomStart, coverages }: GridSubset): Markup {
  const names = escapedLevelNames(gridSet);
  const lines = coverages.map((coverage, offset) => {
    if (!coverage) return '';
    const { minX, minY, maxX, maxY } = coverage;
    return `<TileMatrixLimits><TileMatrix>${names[zoomStart + offset]}</TileMatrix><MinTileRow>${minY}</MinTileRow><MaxTileRow>${maxY}</MaxTileRow><MinTileCol>${minX}</MinTileCol><MaxTileCol>${maxX}</MaxTileCol></TileMatrixLimits>`;
  });
  return { markup: `<TileMatrixSetLimits>${lines.join('')}</TileMatrixSetLimits>` };
}

const levelNames = new WeakMap<GridSet, readonly string[]>();

function escapedLevelNames(gridSet: GridSet): readonly string[] {
  const names = levelNames.get(gridSet) ?? gridSet.levels.map(({ name }) => escapeXml(name));
  levelNames.set(gridSet, names);
  return names;
}

interface Resource {
  readonly type: string;
  /** Below the layer. */
  readonly place: string;
}

const TILE: Resource = {
  type: 'tile',
  place: '{style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}',
};
const FEATURE_INFO: Resource = { type: 'FeatureInfo', place: `${TILE.place}/{J}/{I}` };

function resourceUrl(
  layer: Layer,
  { type, place }: Resource,
  mediaType: string,
  dimensions: readonly Dimension[],
): Markup {
  const query = [`format=${mediaType}`, ...dimensions.map(({ name }) => `${name}={${name}}`)].join('&');
  const template = `/service/wmts/rest/${encodeURIComponent(layer.name)}/${place}?${query}`;
  return markup`<ResourceURL format="${mediaType}" resourceType="${type}" template="${BASE}${template}"/>`;
}
