import type { Gazetteer, GazetteerEntry } from './gazetteer.ts';
import { type MapProjection, projectLatitude } from './map-projection.ts';
import { WATERS, type Water } from './waters.ts';

/** A name where it stands on the whole map of a zoom, in pixels from the plane's origin, rightwards and downwards. */
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

export interface LabelScale {
  readonly projection: MapProjection;
  readonly resolutionX: number;
  readonly resolutionY: number;
  readonly measure: MeasureText;
}

const SMALLEST = 10;
const LARGEST = 19;
/** A name may be this much wider than the land it stands on. */
const OVERHANG = 1.25;
/** Below this many degrees per pixel the smallest islands have room for their names too. */
const EVERY_NAME_BELOW = 0.012;
const APART = 4;

/** Names in order of their countries' size, each where none before it stands: the same for every picture of a zoom. */
export function layOutLabels(gazetteer: Gazetteer, scale: LabelScale): PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  const place = (label: PlacedLabel, room: number) => {
    const fits = label.halfWidth * 2 < room || scale.resolutionX < EVERY_NAME_BELOW;
    if (fits && !placed.some((other) => overlap(label, other))) placed.push(label);
  };
  const countries = [...gazetteer.values()].sort((a, b) => b.area - a.area);
  for (const country of countries) {
    place(countryLabel(country, scale), (country.width / scale.resolutionX) * OVERHANG);
  }
  for (const water of WATERS) place(waterLabel(water, scale), water.width / scale.resolutionX);
  return placed;
}

function countryLabel(entry: GazetteerEntry, scale: LabelScale): PlacedLabel {
  const side = Math.sqrt(entry.area / (scale.resolutionX * scale.resolutionY));
  return labelAt('country', entry.name, sizeFor(7 + side / 22), entry.x, entry.y, scale);
}

function waterLabel(water: Water, scale: LabelScale): PlacedLabel {
  const y = projectLatitude(scale.projection, water.latitude);
  const size = sizeFor(6 + water.width / scale.resolutionX / 35);
  return labelAt('water', water.name, size, water.longitude, y, scale);
}

function sizeFor(wish: number): number {
  return Math.round(Math.min(LARGEST, Math.max(SMALLEST, wish)));
}

function labelAt(
  kind: PlacedLabel['kind'],
  text: string,
  size: number,
  x: number,
  y: number,
  scale: LabelScale,
): PlacedLabel {
  return {
    kind,
    text,
    size,
    x: Math.round(x / scale.resolutionX),
    y: Math.round(-y / scale.resolutionY),
    halfWidth: scale.measure(text, kind, size) / 2,
    halfHeight: size / 2,
  };
}

type Box = Pick<PlacedLabel, 'x' | 'y' | 'halfWidth' | 'halfHeight'>;

export function overlap(a: Box, b: Box): boolean {
  return (
    Math.abs(a.x - b.x) < a.halfWidth + b.halfWidth + APART &&
    Math.abs(a.y - b.y) < a.halfHeight + b.halfHeight + APART
  );
}
