import { describe, expect, it } from 'vitest';
import { boundsOf } from './bounds.ts';
import { subsetWithin } from './fitting-subset.ts';
import { createGridSet } from './grid-set.ts';

describe('the part of a grid set that a layer covers', () => {
  const utm = createGridSet({
    name: 'UTM34',
    srs: 32634,
    extent: boundsOf([166021, 0, 833979, 9329006]),
    resolutions: [1000],
  });

  it('is all of a UTM zone for a layer of the whole world', () => {
    expect(subsetWithin(utm, boundsOf([-180, -90, 180, 90]))).toEqual({ name: 'UTM34' });
  });

  it('is the south of a zone for a layer that goes far beyond its sides', () => {
    const { extent = [] } = subsetWithin(utm, boundsOf([-180, -90, 180, 10])) ?? {};
    expect(extent.slice(0, 3)).toEqual([166021, 0, 833979]);
    expect(extent[3]).toBeGreaterThan(1_105_000);
    expect(extent[3]).toBeLessThan(1_300_000);
  });

  it('is none where the layer ends before the zone', () => {
    expect(subsetWithin(utm, boundsOf([-20, 40, -10, 50]))).toBeNull();
  });
});
