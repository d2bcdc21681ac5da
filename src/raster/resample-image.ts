import { copyPart, type ImagePart, imageLibrary, type RasterImage, samplesOf } from './decode-image.ts';

/** How output pixels map to source pixels along one axis. */
export interface ResampleAxis {
  /** Start of the first output pixel, in source pixels. */
  readonly origin: number;
  /** Source pixels per output pixel. */
  readonly scale: number;
  /** Count of output pixels. */
  readonly length: number;
}

/** Stronger reductions use only some of the pixels. */
const MAX_REDUCTION = 16;
/** Limit of enlargement: a source pixel is then wider than any map. */
const MIN_SCALE = 1e-4;
/** Pixels of an intermediate picture along a strongly enlarged axis, where the library would otherwise waste work. */
const STEP_PIXELS = 1024;

/** Source pixels that are read beyond either end of an axis; the source must have them. */
export function reachOf(scale: number): number {
  return 2 * Math.min(Math.ceil(scale), MAX_REDUCTION);
}

/** Resamples on the image library's threads. Colours are weighted by their opacity. */
export async function resampleImage(
  source: RasterImage,
  across: ResampleAxis,
  down: ResampleAxis,
): Promise<RasterImage> {
  if (isCut(across) && isCut(down)) {
    const part = { left: across.origin, top: down.origin, width: across.length, height: down.length };
    return cut(source, part);
  }
  const [x, y] = [viewOf(across, source.width), viewOf(down, source.height)];
  const [stepX, stepY] = [intermediateAxis(x), intermediateAxis(y)];
  if (!stepX && !stepY) return await interpolate(source, x, y);
  const [overX, overY] = [stepX ?? unscaled(x), stepY ?? unscaled(y)];
  const between = await resampleImage(source, overX, overY);
  return await resampleImage(between, relativeTo(overX, x), relativeTo(overY, y));
}

function isCut({ origin, scale }: ResampleAxis): boolean {
  return scale === 1 && Number.isInteger(origin);
}

/** An axis with the part of the source that it reads. */
interface View extends ResampleAxis {
  readonly from: number;
  readonly size: number;
}

function viewOf({ origin, length, ...axis }: ResampleAxis, side: number): View {
  const scale = Math.max(axis.scale, MIN_SCALE);
  const from = Math.max(0, Math.floor(origin) - reachOf(scale));
  const to = Math.min(side, Math.ceil(origin + length * scale) + reachOf(scale));
  return { origin, scale, length, from, size: to - from };
}

/** An intermediate step, because the library computes the whole view even if few of its pixels are used. Null if most are. */
function intermediateAxis({ length, scale, from, size }: View): ResampleAxis | null {
  if (size / scale <= 2 * length + 2 * STEP_PIXELS) return null;
  return { origin: from, scale: size / STEP_PIXELS, length: STEP_PIXELS };
}

function unscaled({ from, size }: View): ResampleAxis {
  return { origin: from, scale: 1, length: size };
}

function relativeTo(step: ResampleAxis, { origin, scale, length }: ResampleAxis): ResampleAxis {
  return { origin: (origin - step.origin) / step.scale, scale: scale / step.scale, length };
}

async function interpolate({ width, height, pixels }: RasterImage, x: View, y: View): Promise<RasterImage> {
  const reduced = { width: reducedTo(x), height: reducedTo(y) };
  const [right, lower] = [relativeToReduced(x, reduced.width), relativeToReduced(y, reduced.height)];
  const sharp = await imageLibrary();
  const { data, info } = await sharp(pixels, { raw: { width, height, channels: 4 }, limitInputPixels: false })
    .extract({ left: x.from, top: y.from, width: x.size, height: y.size })
    .resize(reduced.width, reduced.height, { fit: 'fill', kernel: 'linear' })
    .affine([1 / right.scale, 0, 0, 1 / lower.scale], {
      interpolator: 'bilinear',
      background: '#00000000',
      idx: -firstSample(right),
      idy: -firstSample(lower),
    })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const image = { width: info.width, height: info.height, pixels: data };
  return cut(image, { left: 0, top: 0, width: x.length, height: y.length });
}

function cut(image: RasterImage, part: ImagePart): RasterImage {
  if (part.width === image.width && part.height === image.height) return image;
  return { width: part.width, height: part.height, pixels: copyPart(samplesOf(image), part).data };
}

/** Pixels after averaging by a whole factor, done first because bilinear interpolation skips pixels beyond two to one. */
function reducedTo({ scale, size }: View): number {
  return scale < 2 ? size : Math.ceil(size / Math.min(Math.floor(scale), MAX_REDUCTION));
}

function relativeToReduced(view: View, pixels: number): ResampleAxis {
  return relativeTo({ origin: view.from, scale: view.size / pixels, length: pixels }, view);
}

/** The library's offset: from the centre of the first source pixel to that of the first output pixel. */
function firstSample({ origin, scale }: ResampleAxis): number {
  return origin + 0.5 * scale - 0.5;
}
