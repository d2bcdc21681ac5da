/** How two pictures differ, pixel by pixel. */
export interface Difference {
  /** From 0 to 1. */
  readonly share: number;
  /** The second picture, pale, with what differs in red; a data address. */
  readonly picture: string;
}

const MARK = [220, 38, 38, 255] as const;
/** Of what is the same, so that one sees where it differs. */
const PALE = 0.25;

/** Null when they cannot be laid over each other. */
export async function differenceOf(before: string, after: string): Promise<Difference | null> {
  const [old, fresh] = [await pixelsOf(before), await pixelsOf(after)];
  if (!old || !fresh || old.width !== fresh.width || old.height !== fresh.height) return null;
  const words = (image: ImageData) => new Uint32Array(image.data.buffer);
  const [oldPixels, freshPixels] = [words(old), words(fresh)];
  let count = 0;
  for (let place = 0; place < freshPixels.length; place++) {
    if (oldPixels[place] === freshPixels[place]) {
      fresh.data[4 * place + 3] = (fresh.data[4 * place + 3] ?? 0) * PALE;
      continue;
    }
    count += 1;
    fresh.data.set(MARK, 4 * place);
  }
  const picture = drawn(fresh);
  return picture === null ? null : { share: count / freshPixels.length, picture };
}

async function pixelsOf(address: string): Promise<ImageData | null> {
  const image = new Image();
  image.src = address;
  await image.decode();
  const context = contextOf(image.naturalWidth, image.naturalHeight);
  context?.drawImage(image, 0, 0);
  return context?.getImageData(0, 0, image.naturalWidth, image.naturalHeight) ?? null;
}

function drawn(image: ImageData): string | null {
  const context = contextOf(image.width, image.height);
  context?.putImageData(image, 0, 0);
  return context?.canvas.toDataURL() ?? null;
}

function contextOf(width: number, height: number): CanvasRenderingContext2D | null {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas.getContext('2d', { willReadFrequently: true });
}
