import { createRequire } from 'node:module';
import { createCanvas, GlobalFonts, type SKRSContext2D } from '@napi-rs/canvas';
import { type Graticule, latitudeLabel, longitudeLabel } from './graticule.ts';
import { type MeasureText, overlap, type PlacedLabel } from './label-layout.ts';
import type { MapStyle } from './map-style.ts';
import type { MapView } from './map-view.ts';

const UPRIGHT = 'Tilewarden Upright';
const ITALIC = 'Tilewarden Italic';
const FILES: readonly (readonly [family: string, file: string])[] = [
  [UPRIGHT, '@fontsource/inter/files/inter-latin-500-normal.woff2'],
  [ITALIC, '@fontsource/inter/files/inter-latin-400-italic.woff2'],
];

/** The map has its own font: a server may have none, and a picture must not depend on the machine. */
export function registerMapFont(): void {
  const require = createRequire(import.meta.url);
  for (const [family, file] of FILES) {
    if (!GlobalFonts.has(family)) GlobalFonts.registerFromPath(require.resolve(file), family);
  }
}

function mapFont(kind: PlacedLabel['kind'], size: number): string {
  return `${size}px "${kind === 'water' ? ITALIC : UPRIGHT}"`;
}

export function createTextMeasure(): MeasureText {
  const context = createCanvas(1, 1).getContext('2d');
  return (text, kind, size) => {
    context.font = mapFont(kind, size);
    return context.measureText(text).width;
  };
}

const DEGREES_SIZE = 9;
/** Pixels between a crossing of the graticule and its label. */
const DEGREES_GAP = 4;
/** Half the width of the longest label of a crossing. */
const DEGREES_HALF_WIDTH = 50;
const HALO_WIDTH = 3;

/** Latitude and longitude at each crossing, unless a name is there. */
export function paintDegrees(
  context: SKRSContext2D,
  view: MapView,
  style: MapStyle,
  graticule: Graticule,
  names: readonly PlacedLabel[],
): void {
  const inView = names.flatMap((name) => placesInView(view, name));
  context.font = mapFont('country', DEGREES_SIZE);
  context.fillStyle = style.degrees;
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  for (const meridian of graticule.meridians) {
    for (const parallel of graticule.parallels) {
      const x = meridian.at + DEGREES_GAP;
      const y = parallel.at - DEGREES_GAP;
      const room = {
        x: x + DEGREES_HALF_WIDTH,
        y: y - DEGREES_SIZE / 2,
        halfWidth: DEGREES_HALF_WIDTH,
        halfHeight: DEGREES_SIZE / 2,
      };
      if (inView.some((name) => overlap(name, room))) continue;
      context.fillText(`${latitudeLabel(parallel.degrees)} ${longitudeLabel(meridian.degrees)}`, x, y);
    }
  }
}

export function paintNames(
  context: SKRSContext2D,
  view: MapView,
  style: MapStyle,
  names: readonly PlacedLabel[],
): void {
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.lineJoin = 'round';
  context.lineWidth = HALO_WIDTH;
  context.strokeStyle = style.halo;
  for (const name of names) {
    for (const { x, y } of placesInView(view, name)) {
      context.font = mapFont(name.kind, name.size);
      context.fillStyle = name.kind === 'water' ? style.waterName : style.name;
      if (name.kind === 'country') context.strokeText(name.text, x, y);
      context.fillText(name.text, x, y);
    }
  }
}

/** In the view's pixels, once for each repetition of the world. Names reach into a view from well outside of it. */
function placesInView(view: MapView, name: PlacedLabel): PlacedLabel[] {
  const turn = 360 / view.resolutionX;
  const marginX = name.halfWidth + 2 * DEGREES_HALF_WIDTH + 20;
  const marginY = name.halfHeight + 20;
  return [-turn, 0, turn]
    .map((shift) => ({ ...name, x: Math.round(name.x + shift) - view.left, y: name.y - view.top }))
    .filter(
      ({ x, y }) => x > -marginX && x < view.width + marginX && y > -marginY && y < view.height + marginY,
    );
}
