import type { Bounds } from './bounds.ts';
import { intersectBounds } from './bounds.ts';
import { TilewardenError } from './errors.ts';
import type { TileRect } from './tile-rect.ts';

/** One zoom of a grid set. */
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
  readonly extent: Bounds;
  readonly tileWidth: number;
  readonly tileHeight: number;
  readonly metersPerUnit: number;
  /** Metres a pixel is taken to measure on a screen; 0.00028 by OGC convention. */
  readonly pixelSize: number;
  readonly alignTopLeft: boolean;
  /** Whether the CRS names its axes y first (WMS 1.3.0, WMTS documents). Bounds inside the house never do. */
  readonly yCoordinateFirst: boolean;
  readonly levels: readonly GridLevel[];
}

export interface GridSetOptions {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly description?: string;
  readonly srs: number;
  readonly extent: Bounds;
  /** Exactly one of `resolutions`, `scaleDenominators` and `levels` says what the ladder is. */
  readonly resolutions?: readonly number[];
  readonly scaleDenominators?: readonly number[];
  /** A number of levels, each halving the resolution; level 0 covers the extent with as few tiles as it can. */
  readonly levels?: number;
  readonly levelNames?: readonly string[];
  readonly tileWidth?: number;
  readonly tileHeight?: number;
  readonly metersPerUnit?: number;
  readonly pixelSize?: number;
  readonly alignTopLeft?: boolean;
  readonly yCoordinateFirst?: boolean;
}

export const METERS_PER_DEGREE = 111319.49079327358;
export const MAX_LEVELS = 31;

const DEFAULT_TILE_SIZE = 256;
const DEFAULT_PIXEL_SIZE = 0.00028;
/** An extent that reaches less than this share of a tile into the next one does not open a new row or column. */
const EXTENT_TOLERANCE = 0.01;
/** In tiles; far below a pixel, far above the rounding of doubles at zoom 30. */
const EDGE_TOLERANCE = 1e-4;

export function createGridSet(options: GridSetOptions): GridSet {
  const tileWidth = options.tileWidth ?? DEFAULT_TILE_SIZE;
  const tileHeight = options.tileHeight ?? DEFAULT_TILE_SIZE;
  const metersPerUnit = options.metersPerUnit ?? 1;
  const pixelSize = options.pixelSize ?? DEFAULT_PIXEL_SIZE;
  const alignTopLeft = options.alignTopLeft ?? false;
  const { extent } = options;
  checkExtent(options.name, extent);
  const resolutions = ladderOf(options, { tileWidth, tileHeight, metersPerUnit, pixelSize });
  checkLadder(options.name, resolutions);

  const levels = resolutions.map((resolution, z): GridLevel => {
    const tileSpanX = resolution * tileWidth;
    const tileSpanY = resolution * tileHeight;
    const columns = tilesAlong(extent.maxX - extent.minX, tileSpanX);
    const rows = tilesAlong(extent.maxY - extent.minY, tileSpanY);
    return {
      name: options.levelNames?.[z] ?? `${options.name}:${z}`,
      resolution,
      scaleDenominator: options.scaleDenominators?.[z] ?? (resolution * metersPerUnit) / pixelSize,
      columns,
      rows,
      tileSpanX,
      tileSpanY,
      top: alignTopLeft ? extent.maxY : extent.minY + rows * tileSpanY,
    };
  });
  return {
    name: options.name,
    aliases: options.aliases ?? [],
    description: options.description ?? '',
    srs: options.srs,
    extent,
    tileWidth,
    tileHeight,
    metersPerUnit,
    pixelSize,
    alignTopLeft,
    yCoordinateFirst: options.yCoordinateFirst ?? false,
    levels,
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
  return { minX: columns.first, minY: rows.first, maxX: columns.last, maxY: rows.last };
}

function spanOf(from: number, to: number, count: number): { first: number; last: number } {
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

interface PixelGeometry {
  readonly tileWidth: number;
  readonly tileHeight: number;
  readonly metersPerUnit: number;
  readonly pixelSize: number;
}

function ladderOf(options: GridSetOptions, pixel: PixelGeometry): readonly number[] {
  const given = [options.resolutions, options.scaleDenominators, options.levels].filter(
    (way) => way !== undefined,
  );
  if (given.length !== 1) {
    throw new TilewardenError(
      'config-invalid',
      `Grid set ${options.name} needs exactly one of resolutions, scaleDenominators and levels.`,
    );
  }
  if (options.resolutions) return options.resolutions;
  if (options.scaleDenominators) {
    return options.scaleDenominators.map((scale) => (pixel.pixelSize * scale) / pixel.metersPerUnit);
  }
  return halvingLadder(options.extent, options.levels ?? 0, pixel);
}

/** Level 0 has one tile along the shorter side and as many as the longer side needs. */
function halvingLadder(extent: Bounds, levels: number, pixel: PixelGeometry): readonly number[] {
  const acrossX = (extent.maxX - extent.minX) / pixel.tileWidth;
  const acrossY = (extent.maxY - extent.minY) / pixel.tileHeight;
  const wide = acrossX >= acrossY;
  const tilesOnLongSide = Math.max(1, Math.round(wide ? acrossX / acrossY : acrossY / acrossX));
  const [long, short] = wide ? [acrossX, acrossY] : [acrossY, acrossX];
  const first = Math.max(long / tilesOnLongSide, short);
  return Array.from({ length: levels }, (_, z) => first / 2 ** z);
}

function checkExtent(name: string, extent: Bounds): void {
  const finite = Object.values(extent).every(Number.isFinite);
  if (finite && extent.minX < extent.maxX && extent.minY < extent.maxY) return;
  throw new TilewardenError(
    'config-invalid',
    `The extent of grid set ${name} must be minX < maxX and minY < maxY.`,
  );
}

function checkLadder(name: string, resolutions: readonly number[]): void {
  if (resolutions.length < 1 || resolutions.length > MAX_LEVELS) {
    throw new TilewardenError('config-invalid', `Grid set ${name} must have 1 to ${MAX_LEVELS} levels.`);
  }
  const falling = resolutions.every(
    (value, z) => value > 0 && value < (resolutions[z - 1] ?? Number.POSITIVE_INFINITY),
  );
  if (!falling) {
    throw new TilewardenError(
      'config-invalid',
      `The resolutions of grid set ${name} must be positive and fall from level to level.`,
    );
  }
}
