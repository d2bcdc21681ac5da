import type { Bounds } from '../../../domain/bounds.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer, Legend } from '../../../domain/layer.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { extentsByCrs, geographicExtent } from '../geographic-extent.ts';
import { legendAddress, legendsOf } from '../legend-address.ts';
import { stylesOf } from '../wmts/layer-styles.ts';
import { crsNames, isYFirst } from './wms-crs.ts';
import { isDimension } from './wms-parameters.ts';
import type { WmsVersion } from './wms-version.ts';

const NOTHING: Markup = { markup: '' };
const CRS84 = 'CRS:84';

/** WMS 1.3.0, 7.2.4, and WMS 1.1.1, annex A.1; in the order of the schema and of the DTD. */
export function describeWmsLayer(layer: Layer, version: WmsVersion): Markup {
  const newer = version === '1.3.0';
  return markup`<Layer queryable="${layer.infoFormats.length > 0 ? '1' : '0'}">
<Name>${layer.name}</Name>
<Title>${layer.title === '' ? layer.name : layer.title}</Title>
${layer.description === '' ? NOTHING : markup`<Abstract>${layer.description}</Abstract>`}
${crsList(layer, version)}
${newer ? geographicBox(layer) : latLonBox(layer)}
${boundingBoxes(layer, version)}
${dimensions(layer, version)}
${layer.attribution === '' ? NOTHING : markup`<Attribution><Title>${layer.attribution}</Title></Attribution>`}
${stylesOf(layer).map((name, index) => style(layer, name, index === 0))}
</Layer>`;
}

function style(layer: Layer, name: string, isDefault: boolean): Markup {
  const legends = legendsOf(layer, name, isDefault).map((legend) => legendUrl(layer, legend));
  return markup`<Style><Name>${name}</Name><Title>${name}</Title>${legends}</Style>`;
}

/** WMS 1.3.0, 7.2.4.6.5: only with its size. */
function legendUrl(layer: Layer, legend: Legend): Markup {
  if (legend.width === null || legend.height === null) return NOTHING;
  return markup`<LegendURL width="${legend.width}" height="${legend.height}"><Format>${legend.format}</Format><OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" xlink:href="${legendAddress(layer, legend)}"/></LegendURL>`;
}

function crsList(layer: Layer, version: WmsVersion): readonly Markup[] {
  const names = new Set(layer.gridSubsets.flatMap(({ gridSet }) => crsNames(gridSet, version)));
  const tag: Markup = { markup: version === '1.3.0' ? 'CRS' : 'SRS' };
  return [...names].map((name) => markup`<${tag}>${name}</${tag}>`);
}

function geographicBox(layer: Layer): Markup {
  const box = geographicExtent(layer);
  if (!box) return NOTHING;
  const [west, south, east, north] = box;
  return markup`<EX_GeographicBoundingBox><westBoundLongitude>${west}</westBoundLongitude><eastBoundLongitude>${east}</eastBoundLongitude><southBoundLatitude>${south}</southBoundLatitude><northBoundLatitude>${north}</northBoundLatitude></EX_GeographicBoundingBox>`;
}

function latLonBox(layer: Layer): Markup {
  const box = geographicExtent(layer);
  if (!box) return NOTHING;
  const [west, south, east, north] = box;
  return markup`<LatLonBoundingBox minx="${west}" miny="${south}" maxx="${east}" maxy="${north}"/>`;
}

function boundingBoxes(layer: Layer, version: WmsVersion): readonly Markup[] {
  const named = ({ gridSet }: GridSubset) =>
    crsNames(gridSet, version).map((name) => {
      const yFirst = isYFirst(gridSet, { longitudeFirst: name === CRS84 }, version);
      return [name, { name, yFirst }] as const;
    });
  return extentsByCrs(layer, named).map(({ crs, bounds }) =>
    boxElement(version, crs.name, crs.yFirst ? swapped(bounds) : bounds),
  );
}

export function boxElement(version: WmsVersion, crs: string, { minX, minY, maxX, maxY }: Bounds): Markup {
  const attribute: Markup = { markup: version === '1.3.0' ? 'CRS' : 'SRS' };
  return markup`<BoundingBox ${attribute}="${crs}" minx="${minX}" miny="${minY}" maxx="${maxX}" maxy="${maxY}"/>`;
}

function swapped({ minX, minY, maxX, maxY }: Bounds): Bounds {
  return { minX: minY, minY: minX, maxX: maxY, maxY: maxX };
}

/** WMS 1.3.0, annex C.2. Those of 1.1.1 keep their values in an element of their own. */
function dimensions(layer: Layer, version: WmsVersion): readonly Markup[] {
  const listed = layer.parameters.filter(isDimension).filter(({ values }) => (values ?? []).length > 0);
  const described = listed.map(({ name, defaultValue, values }) => ({
    name: name.replace(/^DIM_/, '').toLowerCase(),
    units: name === 'TIME' ? 'ISO8601' : '',
    standard: defaultValue === '' ? NOTHING : markup` default="${defaultValue}"`,
    values: (values ?? []).join(','),
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
