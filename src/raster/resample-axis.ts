/** Which source pixels an output pixel along one axis is made of. */
export interface ResampleAxis {
  readonly length: number;
  /** The first source pixel of each output pixel. Never falls from one output pixel to the next. */
  readonly starts: Int32Array;
  /** How many source pixels; 0 where the source has nothing. */
  readonly counts: Int32Array;
  /** `stride` weights for each output pixel; the first `counts` of them add up to 1. */
  readonly weights: Float32Array;
  readonly stride: number;
  /** Every output pixel is one source pixel: nothing has to be computed. */
  readonly exact: boolean;
}

export interface AxisPlan {
  /** Output pixels. */
  readonly length: number;
  /** Where the first output pixel begins, in source pixels. */
  readonly origin: number;
  /** Source pixels to an output pixel. */
  readonly scale: number;
  /** Source pixels there are. */
  readonly available: number;
}

/** Source pixels over the whole axis: what a box with rounded numbers is off by shows in no pixel. */
const UNNOTICED = 0.05;

/**
 * Bilinear where the picture is enlarged, an average weighted by distance where it is reduced. At the rim of the
 * source the weights of what is missing go to what is there, so that no pixel there is half see-through.
 */
export function createResampleAxis(plan: AxisPlan): ResampleAxis {
  const { length, available } = plan;
  const { origin, scale } = snapped(plan);
  const reach = Math.max(1, scale);
  const stride = Math.min(Math.ceil(2 * reach) + 1, available);
  const axis = {
    starts: new Int32Array(length),
    counts: new Int32Array(length),
    weights: new Float32Array(length * stride),
  };
  for (let index = 0; index < length; index++) {
    const centre = origin + (index + 0.5) * scale;
    if (centre < 0 || centre > available) continue;
    const first = Math.max(0, Math.ceil(centre - reach - 0.5));
    const last = Math.min(available - 1, Math.floor(centre + reach - 0.5));
    fillWeights(axis, { index, first, last, centre, reach, stride });
  }
  fillGaps(axis.starts, axis.counts);
  return { length, stride, ...axis, exact: axis.counts.every((count) => count <= 1) };
}

function snapped({ length, origin, scale }: AxisPlan): { readonly origin: number; readonly scale: number } {
  if (Math.abs(scale - 1) * length > UNNOTICED) return { origin, scale };
  const whole = Math.round(origin);
  return { origin: Math.abs(origin - whole) <= UNNOTICED ? whole : origin, scale: 1 };
}

interface Place {
  readonly index: number;
  readonly first: number;
  readonly last: number;
  readonly centre: number;
  readonly reach: number;
  readonly stride: number;
}

function fillWeights(axis: Pick<ResampleAxis, 'starts' | 'counts' | 'weights'>, place: Place): void {
  const { index, centre, reach, stride } = place;
  const weightAt = (pixel: number) => 1 - Math.abs(pixel + 0.5 - centre) / reach;
  let { first, last } = place;
  while (first < last && weightAt(first) <= 0) first++;
  while (last > first && weightAt(last) <= 0) last--;
  let total = 0;
  for (let pixel = first; pixel <= last; pixel++) total += weightAt(pixel);
  axis.starts[index] = first;
  axis.counts[index] = last - first + 1;
  for (let pixel = first; pixel <= last; pixel++) {
    // On the very rim the only pixel left can lie a whole reach away.
    axis.weights[index * stride + pixel - first] =
      total > 0 ? weightAt(pixel) / total : 1 / (last - first + 1);
  }
}

/** Where there is nothing, the neighbour's start stands, so that starts never fall. */
function fillGaps(starts: Int32Array, counts: Int32Array): void {
  for (let index = 1; index < starts.length; index++) {
    if (counts[index] === 0) starts[index] = starts[index - 1] ?? 0;
  }
}
