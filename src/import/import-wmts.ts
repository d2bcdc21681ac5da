import { boundsOf } from '../domain/bounds.ts';
import { type SubsetDocument, subsetWithin, usualFirst, withZooms } from '../domain/fitting-subset.ts';
import { formatOf } from '../domain/format.ts';
import { createGridSet, type GridSet } from '../domain/grid-set.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import { sameSrs } from '../domain/srs.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import {
  matchTile,
  PIXEL_SIZE,
  srsOfCrs,
  type TileMatrixSet,
  type WmtsLayer,
} from '../sources/wmts-capabilities.ts';
import type { ImportedDocument, ImportReport, SubjectReport } from './import-report.ts';

/** Grid sets for the tile matrix sets of a document: existing ones, or new declarations. */
export class FittingGridSets {
  readonly declared: ImportedDocument[] = [];
  readonly #known: GridSet[];
  readonly #report: ImportReport;
  readonly #fitting = new Map<TileMatrixSet, Fit | null>();

  constructor(known: readonly GridSet[], report: ImportReport) {
    this.#known = usualFirst(known);
    this.#report = report;
  }

  /** Null: none fits, and none can be declared. */
  of(set: TileMatrixSet): Fit | null {
    return getOrCreate(this.#fitting, set, () => this.#find(set) ?? this.#declare(set));
  }

  #find(set: TileMatrixSet): Fit | null {
    for (const gridSet of this.#known) {
      const zooms = zoomsIn(set, gridSet);
      // Only a grid set with all matrices of the set loses nothing.
      if (zooms && zooms.count === set.matrices.length) return { gridSet, ...zooms };
    }
    return null;
  }

  #declare(set: TileMatrixSet): Fit | null {
    const about = this.#report.about(`tile matrix set ${set.id}`);
    const document = gridSetDocument(set, this.#nameFor(set.id));
    const gridSet =
      document && nullIfInvalid(() => createGridSet({ ...document, extent: boundsOf(document.extent) }));
    const zooms = gridSet && zoomsIn(set, gridSet);
    if (!document || !gridSet || zooms?.count !== set.matrices.length) {
      const what = 'its zooms do not share origin and tile size, or its CRS has no EPSG code';
      return about.leftOut('TileMatrixSet', what);
    }
    const { tileWidth, tileHeight, ...rest } = document;
    this.declared.push({ ...rest, tileSize: [tileWidth, tileHeight] });
    this.#known.push(gridSet);
    about.taken('TileMatrixSet');
    return { gridSet, ...zooms };
  }

  #nameFor(id: string): string {
    const isTaken = (name: string) =>
      this.#known.some((one) => one.name === name || one.aliases.includes(name));
    for (let number = 1; ; number++) {
      const name = number === 1 ? id : `${id} ${number}`;
      if (!isTaken(name)) return name;
    }
  }
}

type Fit = Pick<GridSubset, 'gridSet' | 'zoomStart' | 'zoomStop'>;

/** The zooms of a grid set that are matrices of the set; null: none, or they are not consecutive. */
function zoomsIn(
  set: TileMatrixSet,
  gridSet: GridSet,
): (Omit<Fit, 'gridSet'> & { readonly count: number }) | null {
  const srs = srsOfCrs(set.crs);
  if (srs === null || !sameSrs(srs, gridSet.srs)) return null;
  const links = [{ set, limits: new Map() }];
  const has = gridSet.levels.map((_, z) => matchTile(links, gridSet, { z, x: 0, y: 0 }) !== null);
  const [zoomStart, zoomStop] = [has.indexOf(true), has.lastIndexOf(true)];
  const count = has.filter(Boolean).length;
  return zoomStart !== -1 && count === zoomStop - zoomStart + 1 ? { zoomStart, zoomStop, count } : null;
}

/** The extent is that of the finest matrix, whose tiles fit most closely. */
function gridSetDocument(set: TileMatrixSet, name: string) {
  const srs = srsOfCrs(set.crs);
  const matrices = [...set.matrices].sort((a, b) => b.scaleDenominator - a.scaleDenominator);
  const finest = matrices.at(-1);
  if (srs === null || !finest) return null;
  const probe = nullIfInvalid(() =>
    createGridSet({ name: 'probe', srs, extent: boundsOf([0, 0, 1, 1]), scaleDenominators: [1000] }),
  );
  if (!probe) return null;
  const [first, second] = finest.topLeftCorner;
  const yFirst = probe.yCoordinateFirst && !/CRS:?84$/i.test(set.crs);
  const [left, top] = yFirst ? [second, first] : [first, second];
  const resolution = (finest.scaleDenominator * PIXEL_SIZE) / probe.metersPerUnit;
  const right = left + finest.columns * finest.tileWidth * resolution;
  const bottom = top - finest.rows * finest.tileHeight * resolution;
  return {
    name,
    srs,
    extent: [left, bottom, right, top] as const,
    scaleDenominators: matrices.map(({ scaleDenominator }) => scaleDenominator),
    levelNames: matrices.map(({ id }) => id),
    tileWidth: finest.tileWidth,
    tileHeight: finest.tileHeight,
    alignTopLeft: true,
  };
}

function nullIfInvalid<Made>(make: () => Made): Made | null {
  try {
    return make();
  } catch {
    return null;
  }
}

/** One layer of a WMTS, in the configuration file's form; null when it cannot be served. */
export function importWmtsLayer(
  layer: WmtsLayer,
  address: string,
  fitting: FittingGridSets,
  report: ImportReport,
): ImportedDocument | null {
  const about = report.about(`layer ${layer.id}`);
  const subsets = wmtsSubsets(layer, fitting, about);
  const formats = wmtsFormats(layer, about);
  if (subsets.length === 0) about.leftOut('Layer', 'none of its tile matrix sets has a grid set');
  if (formats.length === 0) about.leftOut('Layer', 'none of its formats is served here');
  if (subsets.length === 0 || formats.length === 0) return null;
  about.taken('Identifier', 'TileMatrixSetLink', 'Format');
  const styles = layer.styles.length > 1 ? layer.styles : [];
  if (styles.length > 0) about.taken('Style');
  for (const name of layer.dimensions.keys()) {
    about.changed(`Dimension ${name}`, 'its default is asked for; declare a parameter for other values');
  }
  return omitUndefined({
    name: layer.id,
    title: layer.title || undefined,
    description: layer.abstract || undefined,
    source: { type: 'wmts', url: address, layer: layer.id },
    formats,
    gridSets: subsets,
    parameters: styles.length > 0 ? [{ name: 'STYLES', default: layer.style, values: styles }] : undefined,
  }) as ImportedDocument;
}

function wmtsSubsets(
  layer: WmtsLayer,
  fitting: FittingGridSets,
  about: SubjectReport,
): readonly SubsetDocument[] {
  const subsets = new Map<string, SubsetDocument>();
  for (const { set, limits } of layer.links) {
    const fit = fitting.of(set);
    if (!fit) {
      about.leftOut('TileMatrixSetLink', `${set.id} has no grid set`);
      continue;
    }
    const { gridSet, zoomStart, zoomStop } = fit;
    const subset = subsetWithin(gridSet, layer.degrees);
    if (!subset || subsets.has(gridSet.name)) continue;
    subsets.set(gridSet.name, withZooms(subset, gridSet, zoomStart, zoomStop));
    if (limits.size > 0) about.changed('TileMatrixSetLimits', 'the extent of the layer is used instead');
  }
  return [...subsets.values()];
}

function wmtsFormats({ formats }: WmtsLayer, about: SubjectReport): readonly string[] {
  const known = formats.flatMap((name) => {
    const format = formatOf(name);
    if (!format) about.leftOut('Format', `${name} is not served here`);
    return format ? [format.mediaType] : [];
  });
  return [...new Set(known)];
}
