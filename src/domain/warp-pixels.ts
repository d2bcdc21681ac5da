import { PixelMesh } from './pixel-mesh.ts';
import type { PixelSampler } from './pixel-sampler.ts';

export interface WarpOptions {
  readonly resampling: 'bilinear' | 'nearest';
  /** Awaited after each row of cells. */
  readonly pause: () => Promise<void> | void;
}

/** The tiles that a picture is made of, as keys of the sampler; null when there are more than `most`. */
export async function tilesToWarp(
  mesh: PixelMesh,
  sampler: PixelSampler,
  options: WarpOptions,
  most: number,
): Promise<ReadonlySet<number> | null> {
  const keys = new Set<number>();
  await forEachCell(mesh, options, (places, count) => {
    sampler.collect(places, count, keys);
    return keys.size <= most;
  });
  return keys.size <= most ? keys : null;
}

/** Sums of the samples of a pixel: red, green and blue times alpha, alpha, and their count. */
const SUMS = 5;

/** Draws a picture of that width, which is transparent before, from tiles that the sampler has. */
export async function warpPixels(
  mesh: PixelMesh,
  sampler: PixelSampler,
  options: WarpOptions,
  pixels: Buffer,
  width: number,
): Promise<void> {
  const sums = new Float64Array(SUMS * PixelMesh.pixelsPerCell);
  await forEachCell(mesh, options, (places, count, { column, row, sample, samples, middles }) => {
    const { left, top, across } = mesh.cellAt(column, row);
    if (samples > 1 && sample === 0) sums.fill(0);
    for (let i = 0; i < count; i++) {
      const [x, y] = [places[2 * i] ?? Number.NaN, places[2 * i + 1] ?? Number.NaN];
      const at = 4 * ((top + Math.floor(i / across)) * width + left + (i % across));
      if (samples === 1) sampler[options.resampling](x, y, pixels, at);
      // Samples of a pixel whose middle is inside may be beyond the edge of the world.
      else if (sampler.isInside(middles[2 * i] ?? Number.NaN, middles[2 * i + 1] ?? Number.NaN)) {
        sampler.addTo(sums, x, y, SUMS * i);
        if (sample === samples - 1) writeMean(sums, SUMS * i, pixels, at);
      }
    }
    return true;
  });
}

function writeMean(sums: Float64Array, from: number, pixels: Buffer, at: number): void {
  const alpha = sums[from + 3] ?? 0;
  if (alpha <= 0) return;
  for (let channel = 0; channel < 3; channel++) {
    pixels[at + channel] = Math.round((sums[from + channel] ?? 0) / alpha);
  }
  pixels[at + 3] = Math.round(alpha / (sums[from + 4] ?? 1));
}

interface CellSample {
  readonly column: number;
  readonly row: number;
  readonly sample: number;
  readonly samples: number;
  readonly middles: Float64Array;
}

type VisitCell = (places: Float64Array, count: number, cell: CellSample) => boolean;

/** Each cell once for each sample of its pixels, until `visit` returns false. */
async function forEachCell(mesh: PixelMesh, { resampling, pause }: WarpOptions, visit: VisitCell) {
  const middles = new Float64Array(2 * PixelMesh.pixelsPerCell);
  const places = new Float64Array(2 * PixelMesh.pixelsPerCell);
  for (let row = 0; row < mesh.rows; row++) {
    await pause();
    for (let column = 0; column < mesh.columns; column++) {
      const [wide, high] = resampling === 'nearest' ? [1, 1] : mesh.samplesOf(column, row);
      const count = mesh.placesOf(column, row, middles);
      const { across } = mesh.cellAt(column, row);
      for (let sample = 0; sample < wide * high; sample++) {
        const u = ((sample % wide) + 0.5) / wide - 0.5;
        const v = (Math.floor(sample / wide) + 0.5) / high - 0.5;
        if (wide * high > 1) shift(middles, count, across, u, v, mesh.resolution * MAX_STEP, places);
        const shown = wide * high > 1 ? places : middles;
        if (!visit(shown, count, { column, row, sample, samples: wide * high, middles })) return;
      }
    }
  }
}

/** In pixels of the tiles, between neighbours. Beyond it they are torn apart, as by the antimeridian. */
const MAX_STEP = 64;

/** Places beside the middles of the pixels of a cell, by these shares of the steps to their neighbours. */
function shift(
  middles: Float64Array,
  count: number,
  across: number,
  u: number,
  v: number,
  limit: number,
  places: Float64Array,
): void {
  const stepOf = (axis: number, at: number, ahead: number, isLast: boolean) => {
    const [from, to] = isLast ? [at - ahead, at] : [at, at + ahead];
    const step = (middles[2 * to + axis] ?? Number.NaN) - (middles[2 * from + axis] ?? Number.NaN);
    return Math.abs(step) <= limit ? step : 0;
  };
  for (let i = 0; i < count; i++) {
    const isLast = i % across === across - 1;
    const isLowest = i + across >= count;
    for (let axis = 0; axis < 2; axis++) {
      const step = u * stepOf(axis, i, 1, isLast) + v * stepOf(axis, i, across, isLowest);
      places[2 * i + axis] = (middles[2 * i + axis] ?? Number.NaN) + step;
    }
  }
}
