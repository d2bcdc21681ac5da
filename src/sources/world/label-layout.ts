import type { Gazetteer, Point } from './gazetteer.ts';
import { type MapView, projectLatitude } from './map-view.ts';

/** The place of a name on the whole map of a zoom, in pixels from the plane's origin, rightwards and downwards. */
export interface PlacedLabel {
  readonly kind: 'country' | 'water';
  readonly text: string;
  readonly size: number;
  readonly x: number;
  readonly y: number;
  readonly halfWidth: number;
  readonly halfHeight: number;
}

export type MeasureText = (text: string, kind: PlacedLabel['kind'], size: number) => number;

interface LabelScale extends Pick<MapView, 'projection' | 'resolutionX' | 'resolutionY'> {
  readonly measure: MeasureText;
}

const MIN_SIZE = 10;
const MAX_SIZE = 19;
/** A name may be this much wider than its land. */
const OVERHANG = 1.25;
/** Below this many degrees per pixel even the smallest islands have room for their names. */
const EVERY_NAME_BELOW = 0.012;
const MIN_GAP = 4;

/** Places large countries' names first, and no name on an earlier one: the same in every picture of a zoom. */
export function layOutLabels(gazetteer: Gazetteer, scale: LabelScale): PlacedLabel[] {
  const { projection, resolutionX, resolutionY, measure } = scale;
  const placed: PlacedLabel[] = [];
  const place = (kind: PlacedLabel['kind'], text: string, size: number, room: number, at: () => Point) => {
    const halfWidth = measure(text, kind, size) / 2;
    if (halfWidth * 2 >= room && resolutionX >= EVERY_NAME_BELOW) return;
    const point = at();
    const [x, y] = [Math.round(point.x / resolutionX), Math.round(-point.y / resolutionY)];
    const label = { kind, text, size, x, y, halfWidth, halfHeight: size / 2 };
    if (!placed.some((other) => overlap(label, other))) placed.push(label);
  };
  const countries = [...gazetteer.values()].sort((a, b) => b.area - a.area);
  for (const { name, area, width, place: at } of countries) {
    const side = Math.sqrt(area / (resolutionX * resolutionY));
    place('country', name, sizeFor(7 + side / 22), (width / resolutionX) * OVERHANG, at);
  }
  for (const { name, width, longitude, latitude } of WATERS) {
    const room = width / resolutionX;
    const at = () => ({ x: longitude, y: projectLatitude(projection, latitude) });
    place('water', name, sizeFor(6 + room / 35), room, at);
  }
  return placed;
}

function sizeFor(wish: number): number {
  return Math.round(Math.min(MAX_SIZE, Math.max(MIN_SIZE, wish)));
}

type Box = Pick<PlacedLabel, 'x' | 'y' | 'halfWidth' | 'halfHeight'>;

export function overlap(a: Box, b: Box): boolean {
  return (
    Math.abs(a.x - b.x) < a.halfWidth + b.halfWidth + MIN_GAP &&
    Math.abs(a.y - b.y) < a.halfHeight + b.halfHeight + MIN_GAP
  );
}

/** The data have no seas; these are named where there is room for the name. */
interface Water {
  readonly name: string;
  readonly longitude: number;
  readonly latitude: number;
  /** About how many degrees the name may span. */
  readonly width: number;
}

const WATERS: readonly Water[] = [
  { name: 'Pacific Ocean', longitude: -140, latitude: 12, width: 80 },
  { name: 'Pacific Ocean', longitude: 164, latitude: 24, width: 40 },
  { name: 'Atlantic Ocean', longitude: -43, latitude: 29, width: 45 },
  { name: 'South Atlantic Ocean', longitude: -14, latitude: -28, width: 40 },
  { name: 'South Pacific Ocean', longitude: -118, latitude: -35, width: 60 },
  { name: 'Indian Ocean', longitude: 80, latitude: -22, width: 45 },
  { name: 'Southern Ocean', longitude: 45, latitude: -60, width: 80 },
  { name: 'Southern Ocean', longitude: -130, latitude: -62, width: 80 },
  { name: 'Arctic Ocean', longitude: -160, latitude: 78, width: 60 },
  { name: 'Norwegian Sea', longitude: 2, latitude: 67.5, width: 15 },
  { name: 'North Sea', longitude: 3.2, latitude: 56.3, width: 6 },
  { name: 'Barents Sea', longitude: 39, latitude: 74, width: 22 },
  { name: 'Greenland Sea', longitude: -6, latitude: 76.5, width: 20 },
  { name: 'Labrador Sea', longitude: -53, latitude: 59.5, width: 14 },
  { name: 'Hudson Bay', longitude: -85.5, latitude: 59.5, width: 12 },
  { name: 'Gulf of Mexico', longitude: -90.5, latitude: 25.2, width: 13 },
  { name: 'Caribbean Sea', longitude: -74.5, latitude: 14.8, width: 15 },
  { name: 'Mediterranean Sea', longitude: 18.5, latitude: 34.6, width: 15 },
  { name: 'Black Sea', longitude: 34.5, latitude: 43.2, width: 9 },
  { name: 'Caspian Sea', longitude: 50.8, latitude: 41.6, width: 5 },
  { name: 'Red Sea', longitude: 38, latitude: 20.4, width: 5 },
  { name: 'Arabian Sea', longitude: 64, latitude: 15, width: 16 },
  { name: 'Bay of Bengal', longitude: 88.3, latitude: 14.5, width: 12 },
  { name: 'South China Sea', longitude: 114, latitude: 14, width: 10 },
  { name: 'Philippine Sea', longitude: 132, latitude: 18, width: 15 },
  { name: 'Sea of Japan', longitude: 134.5, latitude: 40, width: 9 },
  { name: 'Sea of Okhotsk', longitude: 149, latitude: 53, width: 14 },
  { name: 'Bering Sea', longitude: -178, latitude: 58, width: 20 },
  { name: 'Coral Sea', longitude: 154, latitude: -17, width: 12 },
  { name: 'Tasman Sea', longitude: 160, latitude: -38, width: 14 },
  { name: 'Weddell Sea', longitude: -44, latitude: -70, width: 24 },
  { name: 'Ross Sea', longitude: -174, latitude: -74.5, width: 24 },
  { name: 'Baltic Sea', longitude: 19.4, latitude: 56.6, width: 3.4 },
];
