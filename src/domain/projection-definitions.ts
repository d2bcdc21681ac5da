/**
 * PROJ definitions of common CRS by code. Shifts between datums are the seven-parameter ones: right to some metres,
 * which is enough for the boxes in documents and for drawing one picture over another.
 */
const BESSEL_SWISS = '+ellps=bessel +towgs84=674.374,15.056,405.346';
const BESSEL_GERMAN = '+ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7';
const BESSEL_AUSTRIAN = '+ellps=bessel +towgs84=577.326,90.129,463.919,5.137,1.474,5.297,2.4232';
const BESSEL_DUTCH = '+ellps=bessel +towgs84=565.4171,50.3319,465.5524,-0.398957,0.343988,-1.87740,4.0725';
const BESSEL_CZECH = '+ellps=bessel +towgs84=570.8,85.7,462.8,4.998,1.587,5.261,3.56';
const AIRY_BRITISH = '+ellps=airy +towgs84=446.448,-125.157,542.06,0.1502,0.2470,0.8421,-20.4894';
const INTL_BELGIAN = '+ellps=intl +towgs84=-106.8686,52.2978,-103.7239,0.3366,-0.457,1.8422,-1.2747';
const GRS80 = '+ellps=GRS80 +towgs84=0,0,0';
const WGS84 = '+datum=WGS84';

const LATITUDE_OF_BERN = '46.9524055555556';
const LONGITUDE_OF_BERN = '7.43958333333333';

/** A code and its definition in each line. */
const LISTED = `
  2056 +proj=somerc +lat_0=${LATITUDE_OF_BERN} +lon_0=${LONGITUDE_OF_BERN} +k_0=1 +x_0=2600000 +y_0=1200000 ${BESSEL_SWISS}
  2100 +proj=tmerc +lat_0=0 +lon_0=24 +k=0.9996 +x_0=500000 +y_0=0 +ellps=GRS80 +towgs84=-199.87,74.79,246.62
  2154 +proj=lcc +lat_0=46.5 +lon_0=3 +lat_1=49 +lat_2=44 +x_0=700000 +y_0=6600000 ${GRS80}
  2157 +proj=tmerc +lat_0=53.5 +lon_0=-8 +k=0.99982 +x_0=600000 +y_0=750000 ${GRS80}
  2180 +proj=tmerc +lat_0=0 +lon_0=19 +k=0.9993 +x_0=500000 +y_0=-5300000 ${GRS80}
  2193 +proj=tmerc +lat_0=0 +lon_0=173 +k=0.9996 +x_0=1600000 +y_0=10000000 ${GRS80}
  3006 +proj=utm +zone=33 ${GRS80}
  3031 +proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=0 +x_0=0 +y_0=0 ${WGS84}
  3034 +proj=lcc +lat_0=52 +lon_0=10 +lat_1=35 +lat_2=65 +x_0=4000000 +y_0=2800000 ${GRS80}
  3035 +proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 ${GRS80}
  3059 +proj=tmerc +lat_0=0 +lon_0=24 +k=0.9996 +x_0=500000 +y_0=-6000000 ${GRS80}
  3067 +proj=utm +zone=35 ${GRS80}
  3301 +proj=lcc +lat_0=57.5175539305556 +lon_0=24 +lat_1=59.3333333333333 +lat_2=58 +x_0=500000 +y_0=6375000 ${GRS80}
  3346 +proj=tmerc +lat_0=0 +lon_0=24 +k=0.9998 +x_0=500000 +y_0=0 ${GRS80}
  3395 +proj=merc +lon_0=0 +k=1 +x_0=0 +y_0=0 ${WGS84}
  3413 +proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +x_0=0 +y_0=0 ${WGS84}
  3577 +proj=aea +lat_0=0 +lon_0=132 +lat_1=-18 +lat_2=-36 +x_0=0 +y_0=0 ${GRS80}
  3763 +proj=tmerc +lat_0=39.6682583333333 +lon_0=-8.13310833333333 +k=1 +x_0=0 +y_0=0 ${GRS80}
  3765 +proj=tmerc +lat_0=0 +lon_0=16.5 +k=0.9999 +x_0=500000 +y_0=0 ${GRS80}
  3794 +proj=tmerc +lat_0=0 +lon_0=15 +k=0.9999 +x_0=500000 +y_0=-5000000 ${GRS80}
  3812 +proj=lcc +lat_0=50.797815 +lon_0=4.35921583333333 +lat_1=49.8333333333333 +lat_2=51.1666666666667 +x_0=649328 +y_0=665262 ${GRS80}
  3978 +proj=lcc +lat_0=49 +lon_0=-95 +lat_1=49 +lat_2=77 +x_0=0 +y_0=0 ${GRS80}
  4258 +proj=longlat ${GRS80}
  4269 +proj=longlat ${GRS80}
  5041 +proj=stere +lat_0=90 +lon_0=0 +k_0=0.994 +x_0=2000000 +y_0=2000000 ${WGS84}
  5042 +proj=stere +lat_0=-90 +lon_0=0 +k_0=0.994 +x_0=2000000 +y_0=2000000 ${WGS84}
  5070 +proj=aea +lat_0=23 +lon_0=-96 +lat_1=29.5 +lat_2=45.5 +x_0=0 +y_0=0 ${GRS80}
  5514 +proj=krovak +lat_0=49.5 +lon_0=24.8333333333333 +alpha=30.2881397527778 +k=0.9999 +x_0=0 +y_0=0 ${BESSEL_CZECH}
  21781 +proj=somerc +lat_0=${LATITUDE_OF_BERN} +lon_0=${LONGITUDE_OF_BERN} +k_0=1 +x_0=600000 +y_0=200000 ${BESSEL_SWISS}
  27700 +proj=tmerc +lat_0=49 +lon_0=-2 +k=0.9996012717 +x_0=400000 +y_0=-100000 ${AIRY_BRITISH}
  28992 +proj=sterea +lat_0=52.1561605555556 +lon_0=5.38763888888889 +k=0.9999079 +x_0=155000 +y_0=463000 ${BESSEL_DUTCH}
  31256 +proj=tmerc +lat_0=0 +lon_0=16.3333333333333 +k=1 +x_0=0 +y_0=-5000000 ${BESSEL_AUSTRIAN}
  31287 +proj=lcc +lat_0=47.5 +lon_0=13.3333333333333 +lat_1=49 +lat_2=46 +x_0=400000 +y_0=400000 ${BESSEL_AUSTRIAN}
  31370 +proj=lcc +lat_0=90 +lon_0=4.36748666666667 +lat_1=51.1666672333333 +lat_2=49.8333339 +x_0=150000.013 +y_0=5400088.438 ${INTL_BELGIAN}
`;

const BY_CODE: ReadonlyMap<number, string> = new Map(
  [...LISTED.matchAll(/^ {2}(\d+) (\+.*)/gm)].map(([, code, definition = '']) => [Number(code), definition]),
);

/** Codes that count through the zones of a system. */
const ZONES: readonly { first: number; last: number; definition(code: number): string }[] = [
  { first: 32601, last: 32660, definition: (code) => `+proj=utm +zone=${code - 32600} ${WGS84}` },
  { first: 32701, last: 32760, definition: (code) => `+proj=utm +zone=${code - 32700} +south ${WGS84}` },
  { first: 25828, last: 25838, definition: (code) => `+proj=utm +zone=${code - 25800} ${GRS80}` },
  { first: 26901, last: 26923, definition: (code) => `+proj=utm +zone=${code - 26900} ${GRS80}` },
  { first: 28348, last: 28358, definition: (code) => `+proj=utm +zone=${code - 28300} +south ${GRS80}` },
  {
    first: 31466,
    last: 31469,
    definition: (code) =>
      `+proj=tmerc +lat_0=0 +lon_0=${(code - 31464) * 3} +k=1 +x_0=${code - 31464}500000 +y_0=0 ${BESSEL_GERMAN}`,
  },
];

/** Null for a code that is not among them. */
export function definitionOfSrs(code: number): string | null {
  const listed = BY_CODE.get(code);
  if (listed) return `${listed} +units=m +no_defs`;
  const zone = ZONES.find(({ first, last }) => code >= first && code <= last);
  return zone ? `${zone.definition(code)} +units=m +no_defs` : null;
}
