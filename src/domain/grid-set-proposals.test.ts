import { describe, expect, it } from 'vitest';
import { boundsOf } from './bounds.ts';
import { createGridSet, type GridSetOptions } from './grid-set.ts';
import { nationalGridsOf, proposeGridSets } from './grid-set-proposals.ts';
import { boundsFromWgs84, projectionOfSrs } from './projection.ts';

const free = () => false;
const propose = (srs: number, extent: readonly [number, number, number, number] | null = null) =>
  proposeGridSets({ srs, projection: null, extent: extent && boundsOf(extent), isTaken: free });

/** West, south, east, north of a town. */
const TOWNS = {
  CH: [7.38, 46.92, 7.5, 47],
  FR: [2.2, 48.8, 2.5, 48.9],
  PL: [20.9, 52.1, 21.1, 52.3],
  SE: [17.9, 59.3, 18.2, 59.4],
  FI: [24.8, 60.1, 25.1, 60.3],
  EE: [24.6, 59.4, 24.9, 59.5],
  CZ: [14.3, 50, 14.6, 50.1],
  DE: [9.9, 53.5, 10.1, 53.6],
  DK: [12.4, 55.6, 12.7, 55.7],
  NO: [10.6, 59.8, 10.9, 60],
  GB: [-0.2, 51.4, 0, 51.6],
  NL: [4.8, 52.3, 5, 52.4],
  BE: [4.3, 50.8, 4.5, 50.9],
} as const;

/** Columns and rows; of IGN, GUGiK and PDOK as their documents have them. */
const MATRICES: readonly (readonly [
  srs: number,
  publisher: string,
  z: number,
  columns: number,
  rows: number,
])[] = [
  [25832, 'AdV', 13, 8192, 8192],
  [25833, 'AdV', 0, 1, 1],
  [25833, 'Kartverket', 1, 2, 2],
  [25832, 'Dataforsyningen', 0, 3, 2],
  [28992, 'PDOK', 14, 16384, 16384],
  [2154, 'IGN', 9, 13, 103],
  [2154, 'IGN', 21, 50400, 420409],
  [2180, 'GUGiK', 9, 114, 107],
  [2180, 'GUGiK', 16, 22645, 21312],
  [3067, 'JHS 180', 15, 32768, 32768],
  [3006, 'Lantmäteriet', 0, 4, 4],
];

describe('proposals of grid sets', () => {
  it.each(MATRICES)(
    'EPSG:%i of %s has the published tiles at zoom %i',
    (srs, publisher, z, columns, rows) => {
      const proposal = propose(srs).find((one) => one.publisher === publisher);
      if (!proposal) throw new Error('it is not proposed');
      expect(createGridSet(proposal.options).levels[z]).toMatchObject({ columns, rows });
    },
  );

  it('every national grid can be declared and covers a town of its country', () => {
    const codes = [2056, 2154, 2180, 3006, 3067, 3301, 5514, 21781, 25832, 25833, 25835, 27700, 28992, 31370];
    for (const srs of codes) {
      for (const { country, publisher } of nationalGridsOf(srs)) {
        const projection = projectionOfSrs(srs);
        const [minX, minY, maxX, maxY] = TOWNS[country as keyof typeof TOWNS];
        const extent = projection && boundsFromWgs84(projection, { minX, minY, maxX, maxY });
        const proposals = proposeGridSets({ srs, projection: null, extent, isTaken: free });
        const own = proposals.find((one) => one.publisher === publisher);
        expect(own, `${srs} ${publisher}`).toMatchObject({ covers: true, options: { name: `EPSG:${srs}` } });
        for (const { options } of proposals) expect(createGridSet(options).srs).toBe(srs);
      }
    }
  });

  it('national grids that do not cover the extent come after the computed one', () => {
    const publishers = propose(25832, [400000, 5000000, 420000, 5020000]).map(({ publisher }) => publisher);
    expect(publishers).toEqual(['Kartverket', null, 'AdV', 'Dataforsyningen']);
  });

  it('the computed ladder has one tile at level 0, round edges, and pixels of about ten centimetres at its end', () => {
    const [{ options }, ...others] = propose(3765, [451234, 5060111, 478888, 5087777]) as [
      ReturnType<typeof propose>[number],
    ];
    expect(others).toEqual([]);
    expect(options.extent).toEqual({ minX: 451000, minY: 5060000, maxX: 479000, maxY: 5088000 });
    const { levels } = createGridSet(options);
    expect(levels[0]).toMatchObject({ columns: 1, rows: 1, resolution: 128 });
    expect(levels.at(-1)?.resolution).toBe(0.125);
  });

  it('the computed ladder of a CRS in degrees or feet has its units', () => {
    const degrees = createGridSet(propose(4258, [5, 47, 15, 55])[0]?.options as GridSetOptions);
    expect(degrees.levels[0]?.scaleDenominator).toBeGreaterThan(1e6);
    const projection = '+proj=lcc +lat_0=40 +lon_0=-96 +lat_1=33 +lat_2=45 +units=us-ft';
    const wanted = { srs: 2229, extent: boundsOf([0, 0, 1000, 1000]), isTaken: free, projection };
    expect(proposeGridSets(wanted)[0]?.options).toMatchObject({ metersPerUnit: 1200 / 3937, projection });
  });

  it('a zone of UTM needs no extent, another CRS without a national grid does', () => {
    expect(propose(25831)[0]?.options.extent.maxY).toBe(9400000);
    expect(propose(3765)).toEqual([]);
  });

  it('names that are taken are not proposed', () => {
    const isTaken = (name: string) => ['EPSG:25832', 'EPSG:25832 AdV', 'EPSG:25832 local'].includes(name);
    const extent = boundsOf([500000, 5900000, 510000, 5910000]);
    const names = proposeGridSets({ srs: 25832, projection: null, extent, isTaken }).map(
      ({ options }) => options.name,
    );
    expect(names).toEqual([
      ...['EPSG:25832 AdV 2', 'EPSG:25832 Dataforsyningen', 'EPSG:25832 Kartverket', 'EPSG:25832 local 2'],
    ]);
  });
});
