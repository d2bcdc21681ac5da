import { describe, expect, it } from 'vitest';
import { graticuleOf, latitudeLabel, longitudeLabel } from './graticule.ts';
import { createMapView } from './map-view.ts';

describe('degrees in words', () => {
  it.each([
    [59 + 25 / 60, '59°25′N'],
    [-33.5, '33°30′S'],
    [0, '0°'],
    [12 + 5 / 60 + 20 / 3600, '12°05′20″N'],
  ])('the latitude %f is written as %s', (degrees, words) => {
    expect(latitudeLabel(degrees)).toBe(words);
  });

  it.each([
    [5, '5°E'],
    [-120, '120°W'],
    [180, '180°'],
    [-180, '180°'],
    [190, '170°W'],
    [-360, '0°'],
  ])('the longitude %f is written as %s', (degrees, words) => {
    expect(longitudeLabel(degrees)).toBe(words);
  });
});

it('the lines of a graticule get closer in degrees, never on the screen, with each zoom', () => {
  const steps = [0, 2, 4, 6, 8, 10, 12].map((z) => {
    const resolution = 360 / 256 / 2 ** z;
    const span = resolution * 512;
    const view = createMapView('mercator', { minX: 0, minY: 0, maxX: span, maxY: span }, 512, 512);
    const { meridians } = graticuleOf(view);
    expect(meridians.length).toBeLessThan(60);
    const [first, second] = meridians;
    return (second?.degrees ?? 0) - (first?.degrees ?? 0);
  });
  expect(steps).toEqual([...steps].sort((a, b) => b - a));
  expect(steps[0]).toBeCloseTo(30);
  expect(steps.at(-1)).toBeCloseTo(1 / 12);
});
