import { someOf } from '../lib/closest-name.ts';
import { type Bounds, intersectBounds } from './bounds.ts';
import { misconfigured, shortened, TilewardenError } from './errors.ts';
import type { TileRect } from './tile-rect.ts';

export interface GridLevel {
  /** Identifier towards clients, e.g. `EPSG:4326:0`. */
  readonly name: string;
  /** CRS units per pixel. */
  readonly resolution: number;
  readonly scaleDenominator: number;
  readonly columns: number;
  readonly rows: number;
  /** CRS units a tile spans. */
  readonly tileSpanX: number;
  readonly tileSpanY: number;
  /** The y of the top edge of row 0; above the extent when the grid is aligned to its bottom. */
  readonly top: number;
}

/** A CRS, an extent and a ladder of resolutions. Rows count from the top left. */
export interface GridSet {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly description: string;
  /** EPSG code. */
  readonly srs: number;
  /** A PROJ definition that overrides that of the code; see `projectionOf`. */
  readonly projection: string | null;
  readonly extent: Bounds;
  readonly tileWidth: number;
  readonly tileHeight: number;
  /** Pixels per pixel of a plain screen; 2 for the grid sets of `retinaSubset`, 1 for others. */
  readonly pixelRatio: number;
  readonly metersPerUnit: number;
  /** Metres a pixel is taken to measure on a screen; 0.00028 by OGC convention. */
  readonly pixelSize: number;
  readonly alignTopLeft: boolean;
  /** Whether the CRS names its axes y first (WMS 1.3.0, WMTS documents). Bounds in this code never do. */
  readonly yCoordinateFirst: boolean;
  readonly levels: readonly GridLevel[];
}

/**
 * Options with defaults: `metersPerUnit` is 1, or the length of a degree at the equator for EPSG:4326;
 * `yCoordinateFirst` follows the CRS.
 */
type Optional =
  | ('aliases' | 'description' | 'projection' | 'tileWidth' | 'tileHeight')
  | ('metersPerUnit' | 'pixelSize' | 'alignTopLeft' | 'yCoordinateFirst');

export interface GridSetOptions
  extends Pick<GridSet, 'name' | 'srs' | 'extent'>,
    Partial<Pick<GridSet, Optional>> {
  /** Exactly one of `resolutions`, `scaleDenominators` and `levels` defines the ladder. */
  readonly resolutions?: readonly number[];
  readonly scaleDenominators?: readonly number[];
  /** A number of levels, each halving the resolution; level 0 covers the extent with as few tiles as it can. */
  readonly levels?: number;
  readonly levelNames?: readonly string[];
}

export const METERS_PER_DEGREE = 111319.49079327358;
export const MAX_LEVELS = 31;

export const MAX_TILE_SIZE = 4096;
/** Tiles along a side of a level. */
const MAX_TILES_ALONG = 2 ** 32;
/** The least share of its coordinates that a tile may span, so that rounding moves no edge by EDGE_TOLERANCE. */
const MIN_SPAN_SHARE = 2e-11;
const DEFAULT_TILE_SIZE = 256;
const DEFAULT_PIXEL_SIZE = 0.00028;
/** An extent that reaches less than this share of a tile into the next one does not open a new row or column. */
const EXTENT_TOLERANCE = 0.01;
/** In tiles; far below a pixel, far above the rounding of doubles at zoom 30. */
const EDGE_TOLERANCE = 1e-4;

export function createGridSet(options: GridSetOptions): GridSet {
  const gridSet = wellKnownGridSet(options);
  checkOptions(options, gridSet);
  checkLadder(options, ladderOf(options, gridSet));
  checkLevels(options, gridSet.levels);
  return gridSet;
}

/** Same as `createGridSet`, for valid options. Levels are computed when first used: most never are. */
export function wellKnownGridSet(options: GridSetOptions): GridSet {
  const { name, srs, extent, pixelSize = DEFAULT_PIXEL_SIZE, alignTopLeft = false } = options;
  const { tileWidth = DEFAULT_TILE_SIZE, tileHeight = DEFAULT_TILE_SIZE } = options;
  const metersPerUnit = options.metersPerUnit ?? (srs === 4326 ? METERS_PER_DEGREE : 1);
  let levels: readonly GridLevel[] | null = null;

  function levelAt(resolution: number, z: number): GridLevel {
    const tileSpanX = resolution * tileWidth;
    const tileSpanY = resolution * tileHeight;
    const columns = tilesAlong(extent.maxX - extent.minX, tileSpanX);
    const rows = tilesAlong(extent.maxY - extent.minY, tileSpanY);
    return {
      name: options.levelNames?.[z] ?? `${name}:${z}`,
      resolution,
      scaleDenominator: options.scaleDenominators?.[z] ?? (resolution * metersPerUnit) / pixelSize,
      columns,
      rows,
      tileSpanX,
      tileSpanY,
      top: alignTopLeft ? extent.maxY : extent.minY + rows * tileSpanY,
    };
  }

  return {
    name,
    aliases: options.aliases ?? [],
    description: options.description ?? '',
    srs,
    projection: options.projection ?? null,
    extent,
    tileWidth,
    tileHeight,
    pixelRatio: 1,
    metersPerUnit,
    pixelSize,
    alignTopLeft,
    yCoordinateFirst: options.yCoordinateFirst ?? namesNorthingFirst(srs),
    get levels() {
      levels ??= ladderOf(options, this).map(levelAt);
      return levels;
    },
  };
}

export function levelOf(gridSet: GridSet, z: number): GridLevel {
  const level = gridSet.levels[z];
  if (!level) {
    throw new TilewardenError(
      'tile-outside',
      `Grid set ${gridSet.name} has no zoom level ${z}; it has 0 to ${gridSet.levels.length - 1}.`,
    );
  }
  return level;
}

/** The bounds of a block of tiles; of one tile when `rect` holds one. */
export function boundsOfRect(gridSet: GridSet, z: number, rect: TileRect): Bounds {
  const level = levelOf(gridSet, z);
  return {
    minX: gridSet.extent.minX + rect.minX * level.tileSpanX,
    minY: level.top - (rect.maxY + 1) * level.tileSpanY,
    maxX: gridSet.extent.minX + (rect.maxX + 1) * level.tileSpanX,
    maxY: level.top - rect.minY * level.tileSpanY,
  };
}

export function boundsOfTile(gridSet: GridSet, z: number, x: number, y: number): Bounds {
  return boundsOfRect(gridSet, z, { minX: x, minY: y, maxX: x, maxY: y });
}

/** The tiles that share area with `bounds`; null when none of the grid does. */
export function tilesOfBounds(gridSet: GridSet, z: number, bounds: Bounds): TileRect | null {
  const level = levelOf(gridSet, z);
  const inside = intersectBounds(bounds, gridSet.extent);
  if (!inside) return null;
  const columns = spanOf(
    (inside.minX - gridSet.extent.minX) / level.tileSpanX,
    (inside.maxX - gridSet.extent.minX) / level.tileSpanX,
    level.columns,
  );
  const rows = spanOf(
    (level.top - inside.maxY) / level.tileSpanY,
    (level.top - inside.minY) / level.tileSpanY,
    level.rows,
  );
  return columns && rows && { minX: columns.first, minY: rows.first, maxX: columns.last, maxY: rows.last };
}

/** Null for the sliver of the extent that the grid leaves out, see EXTENT_TOLERANCE. */
function spanOf(from: number, to: number, count: number): { first: number; last: number } | null {
  if (to <= 0 || from >= count) return null;
  const first = clamp(Math.floor(from + EDGE_TOLERANCE), 0, count - 1);
  const last = clamp(Math.ceil(to - EDGE_TOLERANCE) - 1, first, count - 1);
  return { first, last };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function tilesAlong(length: number, span: number): number {
  return Math.max(1, Math.ceil(length / span - EXTENT_TOLERANCE));
}

type PixelGeometry = Pick<GridSet, 'tileWidth' | 'tileHeight' | 'metersPerUnit' | 'pixelSize'>;

function ladderOf(options: GridSetOptions, pixel: PixelGeometry): readonly number[] {
  const { resolutions, scaleDenominators, levels } = options;
  const given = [resolutions, scaleDenominators, levels].filter((way) => way !== undefined);
  check(options, given.length === 1, 'needs exactly one of resolutions, scaleDenominators and levels');
  if (resolutions) return resolutions;
  if (scaleDenominators) {
    return scaleDenominators.map((scale) => (pixel.pixelSize * scale) / pixel.metersPerUnit);
  }
  return halvingLadder(options.extent, levels ?? 0, pixel);
}

/** Level 0 has one tile along the shorter side and as many as the longer side needs. */
function halvingLadder(extent: Bounds, levels: number, pixel: PixelGeometry): readonly number[] {
  if (!Number.isInteger(levels) || levels < 1 || levels > MAX_LEVELS) return [];
  const acrossX = (extent.maxX - extent.minX) / pixel.tileWidth;
  const acrossY = (extent.maxY - extent.minY) / pixel.tileHeight;
  const wide = acrossX >= acrossY;
  const tilesOnLongSide = Math.max(1, Math.round(wide ? acrossX / acrossY : acrossY / acrossX));
  const [long, short] = wide ? [acrossX, acrossY] : [acrossY, acrossX];
  const first = Math.max(long / tilesOnLongSide, short);
  return Array.from({ length: levels }, (_, z) => first / 2 ** z);
}

function checkOptions(options: GridSetOptions, pixel: PixelGeometry): void {
  const { extent, srs } = options;
  const finite = Object.values(extent).every(Number.isFinite);
  check(options, options.name !== '', 'needs a name');
  check(
    options,
    !options.name.endsWith('@2x'),
    'needs a name that does not end in @2x: see retina of layers',
  );
  check(options, Number.isSafeInteger(srs) && srs > 0, 'needs the number of an SRS');
  check(
    options,
    finite && extent.minX < extent.maxX && extent.minY < extent.maxY,
    'needs an extent with minX < maxX and minY < maxY',
  );
  for (const size of [pixel.tileWidth, pixel.tileHeight]) {
    const fits = Number.isInteger(size) && size >= 1 && size <= MAX_TILE_SIZE;
    check(options, fits, `needs tiles of 1 to ${MAX_TILE_SIZE} pixels`);
  }
  check(options, isPositive(pixel.metersPerUnit), 'needs a positive metersPerUnit');
  check(options, isPositive(pixel.pixelSize), 'needs a positive pixelSize');
}

function checkLadder(options: GridSetOptions, resolutions: readonly number[]): void {
  const { length } = resolutions;
  check(options, length >= 1 && length <= MAX_LEVELS, `needs 1 to ${MAX_LEVELS} levels`);
  const falling = resolutions.every(
    (value, z) => isPositive(value) && value < (resolutions[z - 1] ?? Number.POSITIVE_INFINITY),
  );
  check(options, falling, 'needs resolutions that are positive and fall from level to level');
  const names = options.levelNames ?? [];
  check(
    options,
    names.length === 0 || (names.length === length && new Set(names).size === length),
    'needs as many different level names as levels, or none',
  );
}

function checkLevels(options: GridSetOptions, levels: readonly GridLevel[]): void {
  const farthest = Math.max(...Object.values(options.extent).map(Math.abs));
  const fine = levels.every(
    (level) =>
      Math.max(level.columns, level.rows) <= MAX_TILES_ALONG &&
      Math.min(level.tileSpanX, level.tileSpanY) >= farthest * MIN_SPAN_SHARE,
  );
  check(options, fine, 'has resolutions too fine to be distinguished within its extent');
}

function check(options: GridSetOptions, holds: boolean, what: string): void {
  if (!holds) throw misconfigured(`Grid set ${options.name} ${what}.`);
}

function isPositive(value: number): boolean {
  return Number.isFinite(value) && value > 0;
}

/**
 * First and last of the EPSG codes between which every two-dimensional CRS names its northing or latitude first,
 * by version 10.076 of the EPSG dataset. A lone code is a range of its own.
 */
// biome-ignore format: a table
const NORTHING_FIRST: readonly (readonly [first: number, last?: number])[] = [
  [2044, 2045], [2081, 2083], [2093], [2096, 2098], [2105, 2132], [2169, 2180], [2193], [2200], [2206,
  2212], [2319, 2735], [2738, 2758], [2935, 2941], [2953], [3006, 3030], [3034, 3035], [3040, 3049],
  [3058, 3059], [3068], [3114, 3118], [3120], [3126, 3140], [3152], [3300, 3301], [3328, 3335], [3346],
  [3350, 3352], [3386, 3390], [3396, 3399], [3407], [3414], [3416], [3764], [3788, 3793], [3795, 3796],
  [3819, 3824], [3833, 3854], [3873, 3889], [3906], [4023, 4046], [4075, 4081], [4120, 4216], [4218,
  4326], [4417], [4434], [4463], [4470], [4475, 4483], [4490, 4558], [4568, 4646], [4652, 4824], [4839,
  5013], [5048], [5105, 5188], [5228, 5233], [5246], [5252, 5264], [5269, 5275], [5324], [5340, 5354],
  [5360], [5365, 5381], [5393], [5451], [5464, 5467], [5479, 5481], [5489], [5518, 5520], [5524, 5527],
  [5546], [5561, 5588], [5593], [5632, 5639], [5651, 5653], [5681], [5886], [6135], [6207], [6244, 6275],
  [6311], [6318, 6325], [6362, 6365], [6372, 6387], [6668, 6687], [6706, 6709], [6783], [6870, 6876],
  [6881, 6883], [6892, 6894], [6962], [6983], [6990], [7073], [7136, 7139], [7373], [7683, 7686], [7798,
  7801], [7825, 7844], [7881], [7886], [8042, 8043], [8086], [8232, 8255], [8351], [8427, 8441], [8545],
  [8685], [8694, 8818], [8860, 8900], [8907], [8949], [8972, 9140], [9148], [9153], [9221, 9254], [9271,
  9294], [9299], [9309], [9333], [9364], [9372], [9377, 9384], [9403], [9453], [9470], [9474, 9475],
  [9498, 9547], [9696], [9702], [9739], [9755, 9758], [9763], [9777], [9782], [9821], [9831, 9841], [9851,
  9866], [9871], [9895, 9939], [9964], [9969], [9974], [9990], [20004, 20041], [20904, 20932], [21004,
  21032], [21207, 21264], [21307, 21463], [21896, 21899], [22171, 22197], [22240], [25884], [27205,
  27232], [27391, 27398], [28404, 28432], [29701, 29702], [30161, 30179], [31251, 31290], [31466, 31469],
];

/** Whether the CRS names its axes y first; false for a code that is not EPSG's. Binary search in the sorted table. */
export function namesNorthingFirst(srs: number): boolean {
  let [low, high] = [0, NORTHING_FIRST.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const [first, last = first] = NORTHING_FIRST[middle] ?? [srs];
    if (srs >= first && srs <= last) return true;
    if (srs > last) low = middle + 1;
    else high = middle;
  }
  return false;
}

export type GridSetRegistry = ReturnType<typeof createGridSetRegistry>;

/** The grid sets for layers. Throws `config-invalid` if two have one name. The first use of an alias counts. */
export function createGridSetRegistry(gridSets: readonly GridSet[]) {
  const byName = new Map<string, GridSet>();
  for (const gridSet of gridSets) {
    if (byName.has(gridSet.name)) {
      throw misconfigured(`There are two grid sets named ${gridSet.name}.`);
    }
    byName.set(gridSet.name, gridSet);
  }
  const byAlias = new Map<string, GridSet>();
  for (const gridSet of gridSets) {
    for (const alias of gridSet.aliases) if (!byAlias.has(alias)) byAlias.set(alias, gridSet);
  }
  const find = (nameOrAlias: string): GridSet | null =>
    byName.get(nameOrAlias) ?? byAlias.get(nameOrAlias) ?? null;
  return {
    gridSets,
    /** By name, or by an alias that is no other grid set's name. */
    find,
    /** Same as `find`, but throws `grid-set-unknown`. */
    get(nameOrAlias: string): GridSet {
      const gridSet = find(nameOrAlias);
      if (gridSet) return gridSet;
      throw new TilewardenError(
        'grid-set-unknown',
        `There is no grid set ${shortened(nameOrAlias)}; there are ${someOf([...byName.keys()])}.`,
      );
    },
  };
}

/** Scale denominators. The upper one is excluded, so that ranges can follow each other. */
export type Scales = readonly [min: number, max: number];

/** Declared scales are rounded to fewer digits than computed ones. */
const ROUNDING = 1e-6;

export function isWithinScales([min, max]: Scales, scale: number): boolean {
  const rounded = scale * (1 + ROUNDING);
  return rounded >= min && rounded < max;
}

/** The scale denominator of a zoom: dense tiles have that of plain ones, since they are shown as large. */
export function scaleAt(gridSet: GridSet, z: number): number {
  return levelOf(gridSet, z).scaleDenominator * gridSet.pixelRatio;
}
