import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RasterImage } from './raster-image.ts';
import type { ResampleAxis } from './resample-axis.ts';

export interface ResamplePlan {
  readonly across: ResampleAxis;
  readonly down: ResampleAxis;
  /** A whole row of the source, RGBA, not premultiplied. Asked for in rising order, each row once. */
  sourceRow(row: number): Promise<Buffer>;
}

const BYTES_PER_PIXEL = 4;
/** Weighted pixels that are computed before others get a turn, about 4 ms. */
const WORK_PER_TURN = 400_000;

/**
 * Makes a picture of a source that is given row by row and never held as a whole. What the source does not cover is
 * transparent.
 */
export async function resampleImage(plan: ResamplePlan): Promise<RasterImage> {
  const { across, down } = plan;
  const [width, height] = [across.length, down.length];
  const pixels = Buffer.alloc(width * height * BYTES_PER_PIXEL);
  const fill = across.exact && down.exact ? copyRow : blendRows(plan);
  let work = 0;
  for (let row = 0; row < height; row++) {
    if (down.counts[row] === 0) continue;
    const target = pixels.subarray(row * width * BYTES_PER_PIXEL, (row + 1) * width * BYTES_PER_PIXEL);
    await fill(plan, row, target);
    work += width * ((down.counts[row] ?? 0) + across.stride);
    if (work < WORK_PER_TURN) continue;
    work = 0;
    await nextTurn();
  }
  return { width, height, pixels };
}

type FillRow = (plan: ResamplePlan, row: number, target: Buffer) => Promise<void>;

async function copyRow(
  { across, down, sourceRow }: ResamplePlan,
  row: number,
  target: Buffer,
): Promise<void> {
  const source = await sourceRow(down.starts[row] ?? 0);
  const first = across.counts.indexOf(1);
  if (first < 0) return;
  const last = across.counts.lastIndexOf(1);
  const start = (across.starts[first] ?? 0) * BYTES_PER_PIXEL;
  source.copy(target, first * BYTES_PER_PIXEL, start, start + (last - first + 1) * BYTES_PER_PIXEL);
}

function blendRows({ across, sourceRow }: ResamplePlan): FillRow {
  /** Source rows, already brought to the width of the output. */
  const narrowed = new Map<number, Float32Array>();
  const sum = new Float32Array(across.length * BYTES_PER_PIXEL);
  return async ({ down }, row, target) => {
    const start = down.starts[row] ?? 0;
    for (const known of narrowed.keys()) if (known < start) narrowed.delete(known);
    sum.fill(0);
    for (let tap = 0; tap < (down.counts[row] ?? 0); tap++) {
      const from = start + tap;
      const values = narrowed.get(from) ?? narrowRow(await sourceRow(from), across);
      narrowed.set(from, values);
      addWeighted(sum, values, down.weights[row * down.stride + tap] ?? 0);
    }
    writeRow(sum, target);
  };
}

/** Premultiplied: a pixel's colour counts for as much as one can see of it. */
function narrowRow(source: Buffer, { length, starts, counts, weights, stride }: ResampleAxis): Float32Array {
  const values = new Float32Array(length * BYTES_PER_PIXEL);
  for (let index = 0; index < length; index++) {
    const count = counts[index] ?? 0;
    let [red, green, blue, alpha] = [0, 0, 0, 0];
    let at = (starts[index] ?? 0) * BYTES_PER_PIXEL;
    for (let tap = 0; tap < count; tap++, at += BYTES_PER_PIXEL) {
      const seen = (weights[index * stride + tap] ?? 0) * (source[at + 3] ?? 0);
      red += (source[at] ?? 0) * seen;
      green += (source[at + 1] ?? 0) * seen;
      blue += (source[at + 2] ?? 0) * seen;
      alpha += seen;
    }
    const to = index * BYTES_PER_PIXEL;
    values[to] = red;
    values[to + 1] = green;
    values[to + 2] = blue;
    values[to + 3] = alpha;
  }
  return values;
}

function addWeighted(sum: Float32Array, values: Float32Array, weight: number): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (values[i] ?? 0) * weight;
}

function writeRow(sum: Float32Array, target: Buffer): void {
  for (let i = 0; i < sum.length; i += BYTES_PER_PIXEL) {
    const alpha = sum[i + 3] ?? 0;
    if (alpha < 0.5) continue;
    target[i] = Math.min(255, Math.round((sum[i] ?? 0) / alpha));
    target[i + 1] = Math.min(255, Math.round((sum[i + 1] ?? 0) / alpha));
    target[i + 2] = Math.min(255, Math.round((sum[i + 2] ?? 0) / alpha));
    target[i + 3] = Math.min(255, Math.round(alpha));
  }
}
