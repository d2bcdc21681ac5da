import { formatOf } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { INFO_FORMATS } from '../domain/layer.ts';
import { sameSrs } from '../domain/srs.ts';
import { withoutAbsent } from '../lib/without-absent.ts';
import { srsOfCrs } from '../sources/match-grid.ts';
import { type SubsetDocument, subsetWithin, withinScales } from './fitting-subset.ts';
import type { ImportedDocument, ImportReport } from './import-report.ts';
import type { WmsCapabilities, WmsDimension, WmsLayer } from './wms-capabilities.ts';

const MERCATOR = 3857;
/** Longer lists are not for a configuration file. */
const MOST_VALUES = 200;
const GRID_SETS_FOR_ALL = ['EPSG:900913', 'EPSG:4326'];

/** One layer of a WMS, in the configuration file's form; null when it cannot be served. */
export function importWmsLayer(
  layer: WmsLayer,
  { version, formats, infoFormats }: WmsCapabilities,
  address: string,
  gridSets: readonly GridSet[],
  report: ImportReport,
): ImportedDocument | null {
  const subject = `layer ${layer.name}`;
  const subsets = subsetsOf(layer, gridSets, subject, report);
  const served = formatsOf(formats, subject, report);
  if (subsets.length === 0) report.leftOut(subject, 'Layer', 'none of its CRS has a grid set');
  if (served.length === 0) report.leftOut(subject, 'Layer', 'none of its image formats is served here');
  if (subsets.length === 0 || served.length === 0) return null;
  report.taken(subject, 'Name', ...(layer.title ? ['Title'] : []), ...(layer.abstract ? ['Abstract'] : []));
  const known = infoFormats.filter((format) => (INFO_FORMATS as readonly string[]).includes(format));
  const queryable = layer.queryable && known.length > 0;
  if (queryable) report.taken(subject, 'queryable');
  if (layer.queryable && !queryable) {
    report.leftOut(subject, 'queryable', 'none of the formats of GetFeatureInfo is served here');
  }
  const legends = legendsOf(layer, subject, report);
  return withoutAbsent({
    name: layer.name,
    title: layer.title || undefined,
    description: layer.abstract || undefined,
    attribution: layer.attribution || undefined,
    source: withoutAbsent({
      type: 'wms',
      url: address,
      layers: layer.name,
      version,
      transparent: layer.opaque ? undefined : true,
      srs: mercatorName(layer, mercatorAmong(subsets, gridSets)),
    }),
    formats: served,
    gridSets: subsets,
    parameters: parametersOf(layer, subject, report),
    queryable: queryable || undefined,
    infoFormats: queryable ? known : undefined,
    legends: legends.length > 0 ? legends : undefined,
  }) as ImportedDocument;
}

function formatsOf(formats: readonly string[], subject: string, report: ImportReport): readonly string[] {
  const served = new Set<string>();
  for (const name of formats) {
    const format = formatOf(name);
    if (format) served.add(format.mediaType);
    else report.leftOut(subject, 'GetMap.Format', `${name} is not served here`);
  }
  // Deeper and flatter kinds of PNG are made from PNG when somebody adds them; GIF is for want of better.
  const usual = ['image/png', 'image/jpeg', 'image/webp'].filter((name) => served.has(name));
  const taken = usual.length === 0 && served.has('image/gif') ? ['image/gif'] : usual;
  if (taken.length > 0) report.taken(subject, 'GetMap.Format');
  return taken;
}

function subsetsOf(
  layer: WmsLayer,
  gridSets: readonly GridSet[],
  subject: string,
  report: ImportReport,
): readonly SubsetDocument[] {
  const found: SubsetDocument[] = [];
  const strange: string[] = [];
  const chosen = new Set<string>();
  for (const crs of layer.crs) {
    const gridSet = gridSetFor(crs, gridSets);
    if (!gridSet) strange.push(crs);
    if (!gridSet || chosen.has(gridSet.name)) continue;
    chosen.add(gridSet.name);
    const within = subsetWithin(gridSet, layer.degrees);
    const subset = within && withinScales(within, gridSet, layer.minScale, layer.maxScale);
    if (subset) found.push(subset);
    else
      report.leftOut(
        subject,
        'CRS',
        `${crs}: none of grid set ${gridSet.name} lies in the layer's extent and scales`,
      );
  }
  if (found.length > 0) report.taken(subject, 'CRS', 'BoundingBox');
  if (strange.length > 0) {
    const few =
      strange.slice(0, 5).join(', ') + (strange.length > 5 ? ` and ${strange.length - 5} more` : '');
    report.leftOut(subject, 'CRS', `${few}: there is no grid set; declare one in gridSets`);
  }
  const rank = ({ name }: SubsetDocument) => [...GRID_SETS_FOR_ALL, name].indexOf(name);
  return found.sort((a, b) => rank(a) - rank(b));
}

/** The plain one for a CRS: neither for dense screens nor a second ladder for the same. */
function gridSetFor(crs: string, gridSets: readonly GridSet[]): GridSet | null {
  const srs = srsOfCrs(crs);
  if (srs === null) return null;
  const alike = gridSets.filter((gridSet) => sameSrs(gridSet.srs, srs));
  return (
    alike.find(({ name }) => GRID_SETS_FOR_ALL.includes(name)) ??
    alike.find(({ tileWidth }) => tileWidth === 256) ??
    null
  );
}

function mercatorAmong(subsets: readonly SubsetDocument[], gridSets: readonly GridSet[]): GridSet | null {
  const names = subsets.map(({ name }) => name);
  return gridSets.find(({ name, srs }) => names.includes(name) && sameSrs(srs, MERCATOR)) ?? null;
}

/** A server that knows web mercator under another number only has to be asked by that. */
function mercatorName({ crs }: WmsLayer, gridSet: GridSet | null): Record<string, string> | undefined {
  if (!gridSet || crs.includes(`EPSG:${MERCATOR}`)) return undefined;
  const other = crs.find((name) => sameSrs(srsOfCrs(name) ?? 0, MERCATOR));
  return other === undefined ? undefined : { [gridSet.srs]: other };
}

function parametersOf(layer: WmsLayer, subject: string, report: ImportReport): readonly object[] | undefined {
  const styles = layer.styles.map(({ name }) => name);
  const parameters: object[] = [];
  if (styles.length > 1) {
    parameters.push({ name: 'STYLES', default: styles[0], values: styles });
    report.taken(subject, 'Style');
  }
  for (const dimension of layer.dimensions) {
    const filter = filterOf(dimension);
    if (filter) parameters.push(filter);
    if (filter) report.taken(subject, `Dimension ${dimension.name}`);
    else
      report.leftOut(
        subject,
        `Dimension ${dimension.name}`,
        'its values are not a short list; declare a parameter',
      );
  }
  return parameters.length > 0 ? parameters : undefined;
}

/** OGC 06-042, C.2: time and elevation are asked for by name, others with `dim_`. */
function filterOf({ name, default: standard, values }: WmsDimension): object | null {
  const listed = values.split(',').map((value) => value.trim());
  if (values === '' || listed.length > MOST_VALUES || listed.some((value) => value.includes('/')))
    return null;
  const plain = /^(time|elevation)$/i.test(name) ? name.toUpperCase() : `DIM_${name.toUpperCase()}`;
  return { name: plain, default: standard, values: listed };
}

function legendsOf(layer: WmsLayer, subject: string, report: ImportReport): readonly object[] {
  return layer.styles.flatMap(({ name, legend }) => {
    if (!legend || legend.width < 1 || legend.height < 1) return [];
    report.taken(subject, 'Style.LegendURL');
    return [{ style: name, ...legend }];
  });
}
