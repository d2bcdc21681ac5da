/** What is compared of each of MapProxy's configurations. */
export interface Fixture {
  /** Degrees from crest to crest of the waves; at 160 pixels a shift by 0.4 pixels is a difference of 1. */
  readonly wave: number;
  readonly maps?: readonly MapOrder[];
  /** Paths there and here. */
  readonly tiles?: readonly (readonly [string, string])[];
}

interface MapOrder {
  readonly layers: string;
  readonly crs: string;
  readonly box: Box;
  readonly size?: readonly [number, number];
  readonly format?: string;
  /** MapProxy fills the outside of opaque caches with white; ours is transparent on request. */
  readonly transparent?: boolean;
  /** Of the mean difference, where MapProxy is known to draw otherwise; 1 when left out. */
  readonly limit?: number;
  /** Further parameters, with an ampersand before each. */
  readonly more?: string;
}

type Box = readonly [number, number, number, number];

/** Of zoom 5 in web mercator, 16/10: the North Sea and Germany. */
const TILE: Box = [0, 6261721.357121639, 1252344.2714243277, 7514065.628545966];
/** Between tiles and zooms. */
const ASKEW: Box = [510000, 6043210, 1480000, 7013210];
const DEGREES: Box = [-3.3, 44.4, 9.2, 56.9];
const UTM: Box = [150000, 5200000, 950000, 6000000];

function everywhere(
  layers: string,
  crs: readonly string[] = ['EPSG:900913', 'EPSG:4326'],
  options: Omit<MapOrder, 'layers' | 'crs' | 'box'> = {},
): readonly MapOrder[] {
  const boxes: readonly (readonly [string, Box])[] = [
    ['EPSG:900913', TILE],
    ['EPSG:900913', ASKEW],
    ['EPSG:4326', DEGREES],
    ['EPSG:25832', UTM],
  ];
  return boxes
    .filter(([name]) => crs.includes(name))
    .map(([name, box]) => ({ layers, crs: name, box, ...options }));
}

// Without BGCOLOR a stored tile is sent as it is, transparent outside the extent.
const OPAQUE = { transparent: false, more: '&bgcolor=0xffffff' };
const ALL = ['EPSG:900913', 'EPSG:4326', 'EPSG:25832'];

export const FIXTURES: Readonly<Record<string, Fixture>> = {
  combined_sources: {
    wave: 8,
    maps: [
      ...['combinable', 'uncombinable', 'single', 'cached', 'opacity_base'].flatMap((name) =>
        everywhere(name),
      ),
      // Alone, MapProxy shows it as if it had no opacity.
      ...everywhere('opacity_base,opacity_overlay'),
      // Together they are one request there, and the colour is a hole in both.
      ...everywhere('layer_image_opts1'),
      ...everywhere('layer_image_opts2'),
      { layers: 'layer_fwdparams2', crs: 'EPSG:900913', box: TILE, more: '&time=2020&vendor=x' },
    ],
  },
  coverage: {
    wave: 8,
    maps: [
      {
        layers: 'wms_cache',
        format: 'image/jpeg',
        crs: 'EPSG:900913',
        box: [2504688.5428486555, 2504688.5428486555, 3757032.814272983, 3757032.814272983],
      },
      {
        layers: 'wms_cache',
        format: 'image/jpeg',
        crs: 'EPSG:900913',
        box: [900000, 1500000, 2100000, 2700000],
      },
      { layers: 'wms_cache', format: 'image/jpeg', crs: 'EPSG:4326', box: [8, 12, 19.25, 23.25] },
      {
        layers: 'tms_cache',
        format: 'image/jpeg',
        crs: 'EPSG:900913',
        box: [1700000, 1500000, 2900000, 2700000],
      },
    ],
    tiles: [['/tms/1.0.0/wms_cache/EPSG900913/4/17/18.jpeg', '/tiles/wms_cache/5/17/13.jpeg']],
  },
  cache_coverage: {
    wave: 8,
    maps: [
      { layers: 'bbox_coverage_cache', crs: 'EPSG:4326', box: [-22.5, 22.5, 22.5, 67.5], size: [512, 512] },
      { layers: 'intersection_coverage_cache', crs: 'EPSG:4326', box: [-20, 10, 20, 50], size: [400, 400] },
    ],
  },
  multi_cache_layers: {
    wave: 8,
    maps: [...everywhere('cache', undefined, OPAQUE), ...everywhere('wms_only', ['EPSG:900913'], OPAQUE)],
  },
  layergroups: {
    wave: 8,
    maps: ['layer1', 'layer2', 'layer1a', 'layer2b', 'layer2b1'].flatMap((name) => everywhere(name)),
  },
  cache_source: {
    wave: 8,
    maps: [
      { layers: 'tms_transf', crs: 'EPSG:25832', box: [300000, 5300000, 900000, 5900000] },
      { layers: 'new_cache', crs: 'EPSG:900913', box: TILE },
      { layers: 'new_cache', crs: 'EPSG:900913', box: ASKEW },
      { layers: 'combined', crs: 'EPSG:25832', box: [300000, 5300000, 900000, 5900000] },
      { layers: 'combined', crs: 'EPSG:4326', box: [6, 47, 14, 55] },
      { layers: 'combined', crs: 'EPSG:31467', box: [3300000, 5300000, 3800000, 5800000] },
    ],
  },
  dimension: {
    wave: 8,
    // MapProxy does not send its defaults to the source.
    maps: ['11:20:00Z', '13:20:00Z'].flatMap((time) =>
      everywhere('test_cache', undefined, {
        format: 'image/jpeg',
        more: `&time=2020-09-22T${time}&dim_reference_time=2020-09-22T11:20:00Z`,
      }),
    ),
  },
  wmts_dimensions: {
    wave: 8,
    tiles: [
      ['2012-11-12T00:00:00/0', 'time=2012-11-12T00:00:00&elevation=0'],
      ['2012-11-14T00:00:00/3000', 'time=2012-11-14T00:00:00&elevation=3000'],
      ['default/default', ''],
    ].map(([path, query]) => [
      `/wmts/dimension_layer/GLOBAL_MERCATOR/${path}/5/16/10.png`,
      `/service/wmts?service=WMTS&request=GetTile&version=1.0.0&layer=dimension_layer&style=&format=image/png&tilematrixset=EPSG:900913&tilematrix=EPSG:900913:5&tilecol=16&tilerow=10&${query}`,
    ]),
  },
  wms_srs_extent: {
    wave: 8,
    maps: [
      ...everywhere('direct', ALL, OPAQUE),
      // Without clip MapProxy shows the box around the coverage in the SRS of the map, moved to whole pixels.
      ...everywhere('direct_coverage', ALL, { ...OPAQUE, limit: 4 }),
      { layers: 'direct', crs: 'EPSG:31467', box: [3200000, 5200000, 4000000, 6000000] },
    ],
  },
  scalehints: {
    wave: 8,
    maps: [
      ...everywhere('res', undefined, { format: 'image/jpeg' }),
      { layers: 'res', format: 'image/jpeg', crs: 'EPSG:900913', box: [0, 0, 1000, 1000] },
      {
        layers: 'res',
        format: 'image/jpeg',
        crs: 'EPSG:900913',
        box: [0, 0, 5009377.085697311, 5009377.085697311],
      },
      { layers: 'scale', format: 'image/jpeg', crs: 'EPSG:900913', box: [0, 0, 39135.758482, 39135.758482] },
      ...everywhere('scale', undefined, { format: 'image/jpeg' }),
      { layers: 'scale2', format: 'image/jpeg', crs: 'EPSG:900913', box: [0, 0, 611.496226, 611.496226] },
      ...everywhere('scale2', undefined, { format: 'image/jpeg' }),
    ],
  },
  mixed_mode: {
    wave: 8,
    maps: [
      ...everywhere('mixed_mode'),
      {
        layers: 'mixed_mode',
        crs: 'EPSG:900913',
        box: [-1000000, 6000000, 1000000, 8000000],
        size: [400, 400],
      },
    ],
    tiles: [
      ['/tms/1.0.0/mixed_mode/EPSG900913/4/15/21.png', '/tiles/mixed_mode/5/15/10.png'],
      ['/tms/1.0.0/mixed_mode/EPSG900913/4/16/21.png', '/tiles/mixed_mode/5/16/10.jpeg'],
    ],
  },
};
