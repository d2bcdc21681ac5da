import { type MapView, projectLatitude, unprojectLatitude } from './map-view.ts';

export type Graticule = ReturnType<typeof graticuleOf>;

interface GraticuleLine {
  readonly degrees: number;
  /** The pixel the line runs along, counted from the view's left or top edge. */
  readonly at: number;
}

const STEPS = [30, 15, 10, 5, 2, 1, 1 / 2, 1 / 6, 1 / 12, 1 / 30, 1 / 60, 1 / 180, 1 / 360];
const MIN_DISTANCE = 100;
/** Pixels by which lines and labels from outside reach into a picture. */
const REACH = 160;
const POLE = 90;

/** Lines of equal longitude and latitude. */
export function graticuleOf(view: MapView) {
  const step = STEPS.findLast((degrees) => degrees / view.resolutionX >= MIN_DISTANCE) ?? STEPS[0] ?? 30;
  return { meridians: meridiansOf(view, step), parallels: parallelsOf(view, step) };
}

function meridiansOf(view: MapView, step: number): GraticuleLine[] {
  const first = Math.ceil(((view.left - REACH) * view.resolutionX) / step);
  const last = Math.floor(((view.left + view.width + REACH) * view.resolutionX) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => {
    const degrees = (first + place) * step;
    return { degrees, at: pixelOf(degrees / view.resolutionX, view.left) };
  });
}

function parallelsOf(view: MapView, step: number): GraticuleLine[] {
  const latitudeAt = (pixels: number) => unprojectLatitude(view.projection, -pixels * view.resolutionY);
  const south = Math.max(-POLE, latitudeAt(view.top + view.height + REACH));
  const north = Math.min(POLE, latitudeAt(view.top - REACH));
  const first = Math.ceil(south / step);
  const last = Math.floor(north / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => {
    const degrees = (first + place) * step;
    return { degrees, at: pixelOf(-projectLatitude(view.projection, degrees) / view.resolutionY, view.top) };
  }).filter(({ degrees }) => Math.abs(degrees) < POLE - step / 2);
}

/** A line fills whole pixels, so that it is sharp. */
function pixelOf(fromOrigin: number, edge: number): number {
  return Math.floor(fromOrigin - edge);
}

/** E.g. `59°25′N`, `120°W`, `0°`. */
function degreesLabel(degrees: number, positive: string, negative: string): string {
  const seconds = Math.round(Math.abs(degrees) * 3600);
  const parts = [`${Math.floor(seconds / 3600)}°`];
  if (seconds % 3600 !== 0) parts.push(`${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')}′`);
  if (seconds % 60 !== 0) parts.push(`${String(seconds % 60).padStart(2, '0')}″`);
  if (seconds === 0) return parts.join('');
  return parts.join('') + (degrees > 0 ? positive : negative);
}

export function longitudeLabel(degrees: number): string {
  const turned = degrees - Math.round(degrees / 360) * 360;
  return Math.abs(turned) === 180 ? '180°' : degreesLabel(turned, 'E', 'W');
}

export function latitudeLabel(degrees: number): string {
  return degreesLabel(degrees, 'N', 'S');
}
