import { type Bounds, boundsAround, coordsOf } from '../domain/bounds.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import {
  type SubsetDocument,
  subsetWithin,
  USUAL,
  usualFirst,
  withinScales,
} from '../domain/fitting-subset.ts';
import { formatOf } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { INFO_FORMATS } from '../domain/layer.ts';
import { sameSrs } from '../domain/srs.ts';
import { someOf } from '../lib/closest-name.ts';
import { getOrCreate, remembered } from '../lib/get-or-create.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import type { WmsCapabilities, WmsDimension, WmsLayer } from '../sources/wms-capabilities.ts';
import { srsOfCrs } from '../sources/wmts-capabilities.ts';
import type { ImportedDocument, ImportReport, SubjectReport } from './import-report.ts';

/** Limit of the values that are written into a configuration file. */
const MAX_VALUES = 200;

/** One layer of a WMS, in the configuration file's form; null when it cannot be served. */
export function importWmsLayer(
  layer: WmsLayer,
  { version, formats, infoFormats }: WmsCapabilities,
  address: string,
  chosen: ChosenGridSets,
  missing: MissingGridSets,
  report: ImportReport,
): ImportedDocument | null {
  const about = report.about(`layer ${layer.name}`);
  const subsets = wmsSubsets(layer, chosen, about);
  missing.add(layer, chosen, subsets.length > 0);
  const served = wmsFormats(formats, about);
  if (subsets.length === 0) about.leftOut('Layer', 'none of its CRS has a grid set');
  if (served.length === 0) about.leftOut('Layer', 'none of its image formats is served here');
  if (subsets.length === 0 || served.length === 0) return null;
  about.taken('Name', ...(layer.title ? ['Title'] : []), ...(layer.abstract ? ['Abstract'] : []));
  const known = infoFormats.filter((format) => (INFO_FORMATS as readonly string[]).includes(format));
  const queryable = layer.queryable && known.length > 0;
  if (queryable) about.taken('queryable');
  if (layer.queryable && !queryable) {
    about.leftOut('queryable', 'none of the formats of GetFeatureInfo is served here');
  }
  const legends = legendsOf(layer, about);
  return omitUndefined({
    name: layer.name,
    title: layer.title || undefined,
    description: layer.abstract || undefined,
    attribution: layer.attribution || undefined,
    source: omitUndefined({
      type: 'wms',
      url: address,
      layers: layer.name,
      version,
      transparent: layer.opaque ? undefined : true,
      srs: srsNames(chosen),
    }),
    formats: served,
    gridSets: subsets,
    parameters: parametersOf(layer, about),
    queryable: queryable || undefined,
    infoFormats: queryable ? known : undefined,
    legends: legends.length > 0 ? legends : undefined,
  }) as ImportedDocument;
}

function wmsFormats(formats: readonly string[], about: SubjectReport): readonly string[] {
  const served = new Set<string>();
  for (const name of formats) {
    const format = formatOf(name);
    if (format) served.add(format.mediaType);
    else about.leftOut('GetMap.Format', `${name} is not served here`);
  }
  // Other kinds of PNG are made from PNG if an administrator adds them; GIF is the last resort.
  const usual = ['image/png', 'image/jpeg', 'image/webp'].filter((name) => served.has(name));
  const taken = usual.length === 0 && served.has('image/gif') ? ['image/gif'] : usual;
  if (taken.length > 0) about.taken('GetMap.Format');
  return taken;
}

function wmsSubsets(
  layer: WmsLayer,
  { gridSets }: ChosenGridSets,
  about: SubjectReport,
): readonly SubsetDocument[] {
  const found = gridSets.flatMap((gridSet) => {
    const within = subsetWithin(gridSet, layer.degrees);
    const subset = within && withinScales(within, gridSet, layer.minScale, layer.maxScale);
    if (subset) return [subset];
    about.leftOut('CRS', `grid set ${gridSet.name} has nothing of the layer's extent and scales`);
    return [];
  });
  if (found.length > 0) about.taken('CRS', 'BoundingBox');
  return found;
}

/** A server that has web mercator only under another number is queried by that number. */
function srsNames({ gridSets, mercatorName }: ChosenGridSets): Record<string, string> | undefined {
  const gridSet = gridSets.find(({ srs }) => isMercator(`EPSG:${srs}`));
  return gridSet && mercatorName !== null ? { [gridSet.srs]: mercatorName } : undefined;
}

function parametersOf(layer: WmsLayer, about: SubjectReport): readonly object[] | undefined {
  const styles = layer.styles.map(({ name }) => name);
  const parameters: object[] = [];
  // OGC 06-042, 7.3.3.4: empty means the default of the server, which is not always its first; one style needs no choice.
  if (styles.length > 1) parameters.push({ name: 'STYLES', default: '', values: ['', ...styles] });
  if (styles.length > 0) about.taken('Style');
  for (const dimension of layer.dimensions) {
    const name = `Dimension ${dimension.name}`;
    const filter = dimensionFilter(dimension);
    if (filter) parameters.push(filter);
    if (filter) about.taken(name);
    else about.leftOut(name, 'its values are not a short list; declare a parameter');
  }
  return parameters.length > 0 ? parameters : undefined;
}

/** OGC 06-042, C.2: time and elevation are requested by name, others with the prefix `dim_`. */
function dimensionFilter({ name, default: standard, values }: WmsDimension): object | null {
  const listed = values.split(',').map((value) => value.trim());
  if (values === '' || listed.length > MAX_VALUES || listed.some((value) => value.includes('/'))) return null;
  const plain = /^(time|elevation)$/i.test(name) ? name.toUpperCase() : `DIM_${name.toUpperCase()}`;
  return { name: plain, default: standard, values: listed };
}

function legendsOf(layer: WmsLayer, about: SubjectReport): readonly object[] {
  return layer.styles.flatMap(({ name, legend }) => {
    if (!legend || legend.width < 1 || legend.height < 1) return [];
    about.taken('Style.LegendURL');
    const { url, ...picture } = legend;
    // A legend without `url` is requested from the source, at the address that was read.
    const isOfSource = /[?&]request=GetLegendGraphic/i.test(url);
    return [{ style: name, ...picture, ...(!isOfSource && { url }) }];
  });
}

/** A CRS of layers of a service for which no grid set is declared. */
export interface MissingGridSet {
  /** EPSG code. */
  readonly srs: number;
  /** Number of the layers that have it. */
  readonly layers: number;
  /** West, south, east, north of these layers; null: not known, or the world. */
  readonly degrees: readonly number[] | null;
}

/** Collects CRS without a grid set, layer by layer. */
export class MissingGridSets {
  /** Layers that cannot be served without one of these CRS. */
  readonly layers: { readonly name: string; readonly title: string; readonly crs: readonly string[] }[] = [];
  /** Boxes of the layers that have a CRS. */
  readonly #byCode = new Map<number, (Bounds | null)[]>();
  readonly #others = new Set<string>();

  add(layer: WmsLayer, { strange }: ChosenGridSets, isServed: boolean): void {
    const own = layer.crs.length > MAX_CRS ? strange.filter((crs) => layer.boxedCrs.includes(crs)) : strange;
    const codes = own.flatMap((crs) => srsOfCrs(crs) ?? []);
    for (const crs of strange) this.#others.add(crs);
    for (const srs of codes) getOrCreate(this.#byCode, srs, () => []).push(layer.degrees);
    if (isServed || codes.length === 0) return;
    this.layers.push({ name: layer.name, title: layer.title, crs: codes.map((srs) => `EPSG:${srs}`) });
  }

  /** The most used first. */
  get gridSets(): readonly MissingGridSet[] {
    const all = Array.from(this.#byCode, ([srs, boxes]) => {
      const known = boxes.flatMap((box) => (box && !isWorld(box) ? [box] : []));
      const degrees = known.length > 0 ? coordsOf(boundsAround(known)) : null;
      return { srs, layers: boxes.length, degrees };
    });
    return all.sort((a, b) => b.layers - a.layers);
  }

  /** One entry for all: a service may have thousands of layers. */
  report(report: ImportReport): void {
    const names = [...this.#others];
    if (names.length === 0) return;
    report.about('service').leftOut('CRS', `${someOf(names)}: declare a grid set and name it in gridSets`);
  }
}

/** More than half of it around and from south to north: no CRS without a grid set is made for that. */
function isWorld({ minX, minY, maxX, maxY }: Bounds): boolean {
  return maxX - minX > 180 && maxY - minY > 90;
}

const MERCATOR = 3857;
/** A server that lists more CRS for a layer lists all that its library supports. */
const MAX_CRS = 20;

/** Chooses once for each list: thousands of layers share one, which may have thousands of CRS. */
export function createGridSetChooser(known: readonly GridSet[]): (crs: readonly string[]) => ChosenGridSets {
  return remembered((crs) => choose(crs, known));
}

type ChosenGridSets = ReturnType<typeof choose>;

function choose(crs: readonly string[], known: readonly GridSet[]) {
  const considered = crs.length > MAX_CRS ? known.filter(isIntended) : known;
  const found = new Set<GridSet>();
  const strange: string[] = [];
  for (const name of crs) {
    const gridSet = gridSetFor(name, considered);
    if (gridSet) found.add(gridSet);
    else strange.push(name);
  }
  return {
    gridSets: usualFirst(found),
    /** CRS without a grid set. */
    strange,
    /** The server's name of web mercator, unless it is the usual one. */
    mercatorName: crs.includes(`EPSG:${MERCATOR}`) ? null : (crs.find((name) => isMercator(name)) ?? null),
  };
}

/** Whether a longer list may select the grid set: a usual one, or one that an administrator declared. */
function isIntended({ name }: GridSet): boolean {
  return USUAL.includes(name) || !builtInGridSets().some((gridSet) => gridSet.name === name);
}

/** The usual grid set of a CRS, else the first with tiles of 256 pixels: larger ones are for dense screens. */
function gridSetFor(crs: string, known: readonly GridSet[]): GridSet | null {
  const srs = srsOfCrs(crs);
  if (srs === null) return null;
  const alike = known.filter((gridSet) => sameSrs(gridSet.srs, srs));
  const usual = alike.find(({ name }) => USUAL.includes(name));
  return usual ?? alike.find(({ tileWidth }) => tileWidth === 256) ?? null;
}

function isMercator(crs: string): boolean {
  return sameSrs(srsOfCrs(crs) ?? 0, MERCATOR);
}
