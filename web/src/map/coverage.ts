import type { Answer } from '../api/client.ts';

export type Coverage = Answer<'/api/v1/layers/{layer}/coverage/{gridSet}/{z}'>;

type Colour = readonly [number, number, number];

/** From older than a month to fresh. */
const AGE_COLOURS: readonly Colour[] = [
  [192, 58, 43],
  [240, 138, 60],
  [242, 193, 78],
  [124, 191, 75],
  [26, 152, 80],
];
const FEW: Colour = [198, 219, 239];
const ALL: Colour = [8, 81, 156];
/** Pixels of a cell: browsers smooth pictures that are drawn much larger than they are. */
const MOST_PIXELS = 1024;

/** A picture of the cells, as a data address; null when there is nothing to show. */
export function coveragePicture(coverage: Coverage): string | null {
  const { columns, rows, runs, shows } = coverage;
  if (columns === 0 || rows === 0) return null;
  const scale = Math.max(1, Math.floor(MOST_PIXELS / Math.max(columns, rows)));
  const canvas = document.createElement('canvas');
  canvas.width = columns * scale;
  canvas.height = rows * scale;
  const context = canvas.getContext('2d');
  if (!context) return null;
  let place = 0;
  for (let run = 0; run < runs.length; run += 2) {
    const [value = 0, length = 0] = [runs[run], runs[run + 1]];
    if (value > 0) {
      context.fillStyle = cellColour(shows ?? 'share', value);
      fillRun(context, place, length, columns, scale);
    }
    place += length;
  }
  return canvas.toDataURL();
}

function fillRun(
  context: CanvasRenderingContext2D,
  from: number,
  length: number,
  columns: number,
  scale: number,
): void {
  const gap = scale >= 6 ? 1 : 0;
  for (let place = from; place < from + length; place++) {
    const [column, row] = [place % columns, Math.floor(place / columns)];
    context.fillRect(column * scale, row * scale, scale - gap, scale - gap);
  }
}

/** Of a cell with this value, e.g. `rgb(8 81 156)`. */
export function cellColour(shows: NonNullable<Coverage['shows']>, value: number): string {
  const mix = (few: number, place: number) => Math.round(few + (((ALL[place] ?? 0) - few) * value) / 100);
  const colour = shows === 'age' ? (AGE_COLOURS[value - 1] ?? ALL) : FEW.map(mix);
  return `rgb(${colour.join(' ')})`;
}
