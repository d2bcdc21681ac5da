import { expect, it } from 'vitest';
import { fittingZoom } from './fitting-zoom.ts';

const HALF = 20037508.34;
const mercator = {
  resolutions: Array.from({ length: 20 }, (_, z) => (2 * HALF) / 256 / 2 ** z),
  tileSize: [256, 256],
  zoomStart: 0,
  zoomStop: 19,
};

it.each([
  ['the world', [-HALF, -HALF, HALF, HALF], 0],
  ['a city of 15 km', [1100000, 7080000, 1115000, 7095000], 11],
  ['a point', [1, 1, 1.001, 1.001], 19],
])('the zoom that fits %s is the last at which it is no larger than a tile', (_, extent, zoom) => {
  expect(fittingZoom({ ...mercator, extent })).toBe(zoom);
});

it('the zoom that fits is one that the layer offers', () => {
  const city = [1100000, 7080000, 1115000, 7095000];
  expect(fittingZoom({ ...mercator, extent: city, zoomStop: 9 })).toBe(9);
  expect(fittingZoom({ ...mercator, extent: [-HALF, -HALF, HALF, HALF], zoomStart: 3 })).toBe(3);
});
