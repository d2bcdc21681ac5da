import type { Bounds } from '../../../domain/bounds.ts';
import type { Format } from '../../../domain/format.ts';
import type { GridSet } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { sameSrs } from '../../../domain/srs.ts';
import type { TileRect } from '../../../domain/tile-rect.ts';
import { escapeXml } from '../../../lib/xml/write-xml.ts';
import { type Html as Markup, html as markup } from '../../html.ts';
import { degreesOfMercator } from '../web-mercator.ts';
import { type CrsNames, corners } from './grid-set-crs.ts';
import { type Dimension, dimensionsOf, stylesOf } from './layer-styles.ts';

/** Stands for the server's own address until that is known. Nobody's name can hold it: XML has no such character. */
export const BASE: Markup = { markup: '\0' };

const NOTHING: Markup = { markup: '' };
const WEB_MERCATOR = 3857;
const DEGREES = 4326;

/** OGC 07-057r7, table 6; in the order of its schema. */
export function describeLayer(layer: Layer, crsOf: CrsNames): Markup {
  const dimensions = dimensionsOf(layer);
  return markup`<Layer>
<ows:Title>${layer.title === '' ? layer.name : layer.title}</ows:Title>
${layer.description === '' ? NOTHING : markup`<ows:Abstract>${layer.description}</ows:Abstract>`}
${wgs84Box(layer)}
<ows:Identifier>${layer.name}</ows:Identifier>
${layer.gridSubsets.map((subset) => boundingBox(subset, crsOf))}
${stylesOf(layer).map(style)}
${layer.formats.map(({ mediaType }) => markup`<Format>${mediaType}</Format>`)}
${dimensions.map(dimension)}
${layer.gridSubsets.map(matrixSetLink)}
${layer.formats.map((format) => resourceUrl(layer, format, dimensions))}
</Layer>`;
}

function style(name: string, index: number): Markup {
  return markup`<Style isDefault="${String(index === 0)}"><ows:Identifier>${name}</ows:Identifier></Style>`;
}

function dimension({ name, defaultValue, values }: Dimension): Markup {
  const standard = defaultValue === '' ? NOTHING : markup`<Default>${defaultValue}</Default>`;
  return markup`<Dimension><ows:Identifier>${name}</ows:Identifier>${standard}${values.map((value) => markup`<Value>${value}</Value>`)}</Dimension>`;
}

function boundingBox({ gridSet, extent }: GridSubset, crsOf: CrsNames): Markup {
  const crs = crsOf(gridSet);
  const [lower, upper] = corners(crs, extent);
  return markup`<ows:BoundingBox crs="${crs.urn}"><ows:LowerCorner>${lower}</ows:LowerCorner><ows:UpperCorner>${upper}</ows:UpperCorner></ows:BoundingBox>`;
}

/** Left out for layers whose grid sets are all in a CRS that we cannot turn into degrees. */
function wgs84Box(layer: Layer): Markup {
  const boxes = layer.gridSubsets.flatMap(degreesOf);
  if (boxes.length === 0) return NOTHING;
  const lower = `${lowest(boxes, 'minX', -180)} ${lowest(boxes, 'minY', -90)}`;
  const upper = `${highest(boxes, 'maxX', 180)} ${highest(boxes, 'maxY', 90)}`;
  return markup`<ows:WGS84BoundingBox><ows:LowerCorner>${lower}</ows:LowerCorner><ows:UpperCorner>${upper}</ows:UpperCorner></ows:WGS84BoundingBox>`;
}

function lowest(boxes: readonly Bounds[], side: keyof Bounds, limit: number): number {
  return Math.max(limit, Math.min(...boxes.map((box) => box[side])));
}

function highest(boxes: readonly Bounds[], side: keyof Bounds, limit: number): number {
  return Math.min(limit, Math.max(...boxes.map((box) => box[side])));
}

function degreesOf({ gridSet, extent }: GridSubset): readonly Bounds[] {
  if (gridSet.srs === DEGREES) return [extent];
  if (!sameSrs(gridSet.srs, WEB_MERCATOR)) return [];
  const [minX, minY, maxX, maxY] = degreesOfMercator(extent);
  return [{ minX, minY, maxX, maxY }];
}

/** OGC 07-057r7, table 12: without limits all of the grid set is offered, and saying so would be most of the document. */
function matrixSetLink(subset: GridSubset): Markup {
  const limits = offersEverything(subset) ? NOTHING : matrixLimits(subset);
  return markup`<TileMatrixSetLink><TileMatrixSet>${subset.gridSet.name}</TileMatrixSet>${limits}</TileMatrixSetLink>`;
}

function offersEverything({ gridSet, coverages }: GridSubset): boolean {
  return gridSet.levels.every(({ columns, rows }, z) => {
    const coverage = coverages[z];
    return coverage ? coversAll(coverage, columns, rows) : false;
  });
}

function coversAll({ minX, minY, maxX, maxY }: TileRect, columns: number, rows: number): boolean {
  return minX === 0 && minY === 0 && maxX === columns - 1 && maxY === rows - 1;
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

function resourceUrl(layer: Layer, { mediaType }: Format, dimensions: readonly Dimension[]): Markup {
  const place = '{style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}';
  const query = [`format=${mediaType}`, ...dimensions.map(({ name }) => `${name}={${name}}`)].join('&');
  const template = `/service/wmts/rest/${encodeURIComponent(layer.name)}/${place}?${query}`;
  return markup`<ResourceURL format="${mediaType}" resourceType="tile" template="${BASE}${template}"/>`;
}
