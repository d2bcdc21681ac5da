import { beforeAll, describe, expect, it } from 'vitest';
import { MapPainter } from './map-painter.ts';
import { MAP_STYLES, type MapStyleName, STYLES } from './map-style.ts';
import { createMapView, type MapProjection, type MapView, projectLatitude } from './map-view.ts';

const PROJECTIONS: readonly MapProjection[] = ['mercator', 'geographic'];

/** Of 255: the canvas rounds the edges of a shape a little differently when it is cut elsewhere. */
const UNSEEN = 8;

let painter: MapPainter;
beforeAll(() => {
  painter = new MapPainter();
});

interface Picture {
  readonly view: MapView;
  readonly pixels: Uint8Array;
}

interface Place {
  readonly projection: MapProjection;
  readonly z: number;
  readonly longitude: number;
  readonly latitude: number;
}

/** Degrees per pixel at a zoom of the mercator grid set. */
function resolutionAt(z: number): number {
  return 360 / 256 / 2 ** z;
}

/** A view whose pixel (`before`, `above`) shows the place. */
function viewAround(place: Place, before: number, above: number, width: number, height: number): MapView {
  const resolution = resolutionAt(place.z);
  const left = Math.floor(place.longitude / resolution) - before;
  const top = Math.floor(-projectLatitude(place.projection, place.latitude) / resolution) - above;
  const bounds = {
    minX: left * resolution,
    maxX: (left + width) * resolution,
    minY: -(top + height) * resolution,
    maxY: -top * resolution,
  };
  return createMapView(place.projection, bounds, width, height);
}

function paint(view: MapView, style: MapStyleName = 'light'): Picture {
  return { view, pixels: painter.paint(view, style) };
}

function colourAt({ view, pixels }: Picture, x: number, y: number): string {
  const at = (y * view.width + x) * 4;
  return `#${Buffer.from(pixels.subarray(at, at + 3)).toString('hex')}`;
}

function colourOf(place: Place, style: MapStyleName = 'light'): string {
  return colourAt(paint(viewAround(place, 32, 32, 64, 64), style), 32, 32);
}

/** How far apart the pictures are where both show the same ground, shifted by whole pixels. */
function largestDifference(a: Picture, b: Picture): number {
  const dx = b.view.left - a.view.left;
  const dy = b.view.top - a.view.top;
  let largest = 0;
  for (let y = 0; y < b.view.height; y++) {
    for (let byte = 0; byte < b.view.width * 4; byte++) {
      const inA = a.pixels[((y + dy) * a.view.width + dx) * 4 + byte] ?? 0;
      const inB = b.pixels[y * b.view.width * 4 + byte] ?? 0;
      largest = Math.max(largest, Math.abs(inA - inB));
    }
  }
  return largest;
}

function windowOf(view: MapView, x: number, y: number, width: number, height: number): MapView {
  return { ...view, left: view.left + x, top: view.top + y, width, height };
}

describe.each(PROJECTIONS)('in the %s plane', (projection) => {
  it.each([0, 2, 4, 6, 9, 12])(
    `the ${projection} map has sea in the mid-Atlantic and land in the Sahara at zoom %i`,
    (z) => {
      for (const style of ['light', 'dark'] as const) {
        const { sea, land } = STYLES[style];
        expect(colourOf({ projection, z, longitude: -37.3, latitude: 41.3 }, style)).toBe(sea);
        expect(land).toContain(colourOf({ projection, z, longitude: 3.3, latitude: 25.3 }, style));
      }
    },
  );

  it.each([
    ['the Pacific islands', 7, 178, -17],
    ['the coast of Norway', 8, 5.3, 60.4],
    ['Europe', 4, 12, 47],
    ['a fjord', 11, 5.3, 60.4],
    ['the whole world', 2, 0, 10],
  ])(
    `the ${projection} map has the same pixels of %s whatever picture they are part of`,
    (_, z, longitude, latitude) => {
      const whole = paint(viewAround({ projection, z, longitude, latitude }, 256, 256, 512, 512));
      for (const [x, y] of [
        [0, 0],
        [256, 0],
        [128, 256],
      ] as const) {
        const part = paint(windowOf(whole.view, x, y, 256, 256));
        expect(largestDifference(whole, part)).toBeLessThanOrEqual(UNSEEN);
      }
    },
  );

  it(`the ${projection} map shows the same ground at both ends of the world`, () => {
    const resolution = resolutionAt(5);
    const turn = 360 / resolution;
    const west = viewAround({ projection, z: 5, longitude: -180, latitude: 67 }, 128, 128, 256, 256);
    const east = { ...west, left: west.left + turn };
    expect(largestDifference(paint(west), { ...paint(east), view: west })).toBeLessThanOrEqual(UNSEEN);
  });

  it.each([3, 5, 8])(`the ${projection} map runs across the antimeridian without a break at zoom %i`, (z) => {
    const { land } = STYLES.light;
    const picture = paint(viewAround({ projection, z, longitude: 180, latitude: 67.8 }, 4, 4, 9, 9));
    const besideTheMeridian = [0, 1, 2, 3, 5, 6, 7, 8].map((x) => colourAt(picture, x, 4));
    expect(land).toContain(besideTheMeridian[0]);
    expect(new Set(besideTheMeridian).size).toBe(1);
  });

  it(`the ${projection} map has land under ice on both sides of the antimeridian`, () => {
    const { ice } = STYLES.light;
    for (const z of [1, 3, 6]) {
      const picture = paint(viewAround({ projection, z, longitude: 180, latitude: -87.3 }, 4, 4, 9, 9));
      expect([0, 1, 2, 3, 5, 6, 7, 8].map((x) => colourAt(picture, x, 4))).toEqual(Array(8).fill(ice));
    }
  });

  it.each([2, 5])(`the ${projection} map fills Antarctica evenly down to the lowest row at zoom %i`, (z) => {
    const { ice } = STYLES.light;
    const latitude = projection === 'mercator' ? -84.7 : -89.5;
    for (const longitude of [-177.7, -97.3, 1.7, 100.3, 177.7]) {
      expect(colourOf({ projection, z, longitude, latitude })).toBe(ice);
    }
  });
});

it('the map has nothing but sea beyond the poles', () => {
  const beyond = paint(
    viewAround({ projection: 'geographic', z: 2, longitude: 0, latitude: 120 }, 64, 40, 128, 60),
  );
  const colours = new Set(Array.from({ length: 128 }, (_, x) => colourAt(beyond, x, 30)));
  expect([...colours]).toEqual([STYLES.light.sea]);
});

it.each(MAP_STYLES)('the map has coasts and borders in the style %s', (style) => {
  const picture = paint(
    viewAround({ projection: 'mercator', z: 4, longitude: 12, latitude: 48 }, 128, 128, 256, 256),
    style,
  );
  expect(new Set(coloursOf(picture)).size).toBeGreaterThan(20);
});

function coloursOf(picture: Picture): string[] {
  const { width, height } = picture.view;
  return Array.from({ length: width * height }, (_, place) =>
    colourAt(picture, place % width, Math.floor(place / width)),
  );
}
