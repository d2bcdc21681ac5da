import { boundsOf } from '../domain/bounds.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { createGridSet, type GridLevel, type GridSet } from '../domain/grid-set.ts';
import { sameSrs } from '../domain/srs.ts';
import type { ImportedDocument } from './import-report.ts';

/** A grid set in the configuration file's form. */
export interface GridSetDocument extends ImportedDocument {
  readonly srs: number;
  readonly extent: readonly number[];
  readonly tileSize?: readonly number[];
  readonly resolutions?: readonly number[];
  readonly scaleDenominators?: readonly number[];
  readonly levels?: number;
  readonly metersPerUnit?: number;
  readonly pixelSize?: number;
  readonly alignTopLeft?: boolean;
}

/** Our counterpart of another program's grid. */
export interface MatchedGrid {
  readonly name: string;
  readonly gridSet: GridSet | null; // Null: the grid is invalid.
  /** To declare; null: an existing grid set is used. */
  readonly document: ImportedDocument | null;
  /** The last zoom of the other program, if ours has more. */
  readonly zoomStop: number | null;
}

/** Share of the extent; `20037508.34` and `20037508.342789244` are the same edge. */
const EDGE_TOLERANCE = 1e-9;
const PIXEL_TOLERANCE = 0.5;

/** `twin` if it has the same tiles on every level and accepts their names, otherwise a new grid set, under an unused name. */
export function matchGrid(
  document: GridSetDocument,
  twin: GridSet | undefined,
  known: readonly GridSet[],
): MatchedGrid {
  const gridSet = gridSetOf(document);
  const acceptsNames = gridSet?.levels.every(({ name }, z) =>
    [twin?.levels[z]?.name, `${document.name}:${z}`].includes(name),
  );
  if (twin && gridSet && acceptsNames && levelsInCommon(twin, gridSet) === gridSet.levels.length) {
    const zoomStop = gridSet.levels.length < twin.levels.length ? gridSet.levels.length - 1 : null;
    return { name: twin.name, gridSet: twin, document: null, zoomStop };
  }
  const isTaken = known.some(({ name, aliases }) => [name, ...aliases].includes(document.name));
  const name = isTaken ? `${document.name} imported` : document.name;
  return { name, gridSet, document: { ...document, name }, zoomStop: null };
}

/** Null: it is invalid; the schema of the configuration file reports why. */
function gridSetOf(document: GridSetDocument): GridSet | null {
  const { extent, tileSize, ...options } = document;
  const [tileWidth = 256, tileHeight = 256] = tileSize ?? [];
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = extent;
  try {
    return createGridSet({ ...options, extent: boundsOf([minX, minY, maxX, maxY]), tileWidth, tileHeight });
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    return null;
  }
}

/** How many levels, from level 0 on, have the same tiles at the same places. */
export function levelsInCommon(a: GridSet, b: GridSet): number {
  if (!sameSrs(a.srs, b.srs) || a.tileWidth !== b.tileWidth || a.tileHeight !== b.tileHeight) return 0;
  const length = Math.min(a.levels.length, b.levels.length);
  const other = a.levels.slice(0, length).findIndex((level, z) => {
    const twin = b.levels[z];
    return !twin || !sameLevel(a, level, b, twin);
  });
  return other === -1 ? length : other;
}

function sameLevel(a: GridSet, one: GridLevel, b: GridSet, other: GridLevel): boolean {
  if (one.columns !== other.columns || one.rows !== other.rows) return false;
  const slack = Math.max(PIXEL_TOLERANCE * one.resolution, EDGE_TOLERANCE * (a.extent.maxX - a.extent.minX));
  const edges = edgesOf(b, other);
  return edgesOf(a, one).every((edge, at) => Math.abs(edge - (edges[at] ?? Number.NaN)) <= slack);
}

/** The edges of all tiles of a level together. */
function edgesOf({ extent: { minX } }: GridSet, level: GridLevel): readonly number[] {
  const { top, columns, rows, tileSpanX, tileSpanY } = level;
  return [minX, top, minX + columns * tileSpanX, top - rows * tileSpanY];
}
