import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { boundsOf } from '../domain/bounds.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { createGridSet, type GridSet } from '../domain/grid-set.ts';
import { capabilitiesAddress, importCapabilities } from './import-capabilities.ts';

const gridSets = builtInGridSets();

async function read(
  xml: string,
  only: readonly string[] | null = null,
  address = 'http://maps.example.org/wms',
  known: readonly GridSet[] = gridSets,
) {
  const url = capabilitiesAddress(address);
  const imported = await importCapabilities(Buffer.from(xml), { address: url, only, gridSets: known });
  const reported = imported.report.entries.map(
    ({ fate, subject, element }) => `${fate}: ${element} of ${subject}`,
  );
  return { ...imported, reported };
}

const GET = (href: string) =>
  `<DCPType><HTTP><Get><OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="${href}"/></Get></HTTP></DCPType>`;

const WMS_1_1_1 = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE WMT_MS_Capabilities SYSTEM "http://schemas.opengis.net/wms/1.1.1/WMS_MS_Capabilities.dtd" [ <!ELEMENT VendorSpecificCapabilities EMPTY> ]>
<WMT_MS_Capabilities version="1.1.1"><Service><Name>OGC:WMS</Name></Service><Capability><Request>
  <GetMap><Format>image/png</Format><Format>image/jpeg</Format><Format>application/pdf</Format>${GET('http://maps.example.org/wms?map=/a.map&amp;')}</GetMap>
</Request><Layer><Title>All</Title><SRS>EPSG:4326 EPSG:900913</SRS><LatLonBoundingBox minx="5" miny="45" maxx="11" maxy="48"/>
  <Layer queryable="1"><Name>roads</Name><Title>Roads</Title></Layer></Layer></Capability></WMT_MS_Capabilities>`;

const WMS_1_3_0 = `<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"><Capability><Request>
  <GetMap><Format>image/png</Format>${GET('http://internal:8080/wms')}</GetMap>
  <GetFeatureInfo><Format>text/plain</Format><Format>application/x-odd</Format></GetFeatureInfo></Request>
  <Layer><Title>Root</Title><CRS>EPSG:3857</CRS><CRS>EPSG:31467</CRS>
    <EX_GeographicBoundingBox><westBoundLongitude>-180</westBoundLongitude><eastBoundLongitude>180</eastBoundLongitude>
      <southBoundLatitude>-90</southBoundLatitude><northBoundLatitude>90</northBoundLatitude></EX_GeographicBoundingBox>
    <Layer queryable="1" opaque="1"><Name>topp:states</Name><Title>States</Title><Abstract>Of a union</Abstract>
      <Attribution><Title>The survey</Title></Attribution>
      <Style><Name>population</Name><LegendURL width="81" height="80"><Format>image/png</Format>
        <OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="http://internal:8080/legend.png"/></LegendURL></Style>
      <Style><Name>pophatch</Name><LegendURL width="60" height="20"><Format>image/png</Format>
        <OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="http://internal:8080/wms?request=GetLegendGraphic&amp;style=pophatch"/></LegendURL></Style>
      <Dimension name="time" default="2020" units="ISO8601">2019,2020</Dimension>
      <Dimension name="elevation" units="m">0/1000/10</Dimension>
      <MinScaleDenominator>1000000</MinScaleDenominator><MaxScaleDenominator>100000000</MaxScaleDenominator></Layer>
    <Layer><Title>A group without a name</Title><Layer><Name>inner</Name></Layer></Layer>
  </Layer></Capability></WMS_Capabilities>`;

describe('the capabilities of a WMS', () => {
  it('WMS capabilities of version 1.1.1 become layers, their document type ignored', async () => {
    const { layers, reported } = await read(WMS_1_1_1);
    expect(layers).toEqual([
      {
        name: 'roads',
        title: 'Roads',
        source: {
          type: 'wms',
          url: 'http://maps.example.org/wms?map=/a.map',
          layers: 'roads',
          version: '1.1.1',
          transparent: true,
          srs: { 900913: 'EPSG:900913' },
        },
        formats: ['image/png', 'image/jpeg'],
        gridSets: [
          { name: 'EPSG:900913', extent: [556597.45, 5621521.49, 1224514.4, 6106854.83] },
          { name: 'EPSG:4326', extent: [5, 45, 11, 48] },
        ],
      },
    ]);
    expect(reported).toContain('left out: GetMap.Format of layer roads');
    expect(reported).toContain('left out: queryable of layer roads');
  });

  it('WMS capabilities of version 1.3.0 become layers with styles, dimensions, legends and scales', async () => {
    const { layers, reported } = await read(WMS_1_3_0, ['topp:states']);
    expect(layers).toEqual([
      {
        name: 'topp:states',
        title: 'States',
        description: 'Of a union',
        attribution: 'The survey',
        source: { type: 'wms', url: 'http://maps.example.org/wms', layers: 'topp:states', version: '1.3.0' },
        formats: ['image/png'],
        gridSets: [{ name: 'EPSG:900913', zoomStart: 3, zoomStop: 9 }],
        parameters: [
          { name: 'STYLES', default: '', values: ['', 'population', 'pophatch'] },
          { name: 'TIME', default: '2020', values: ['2019', '2020'] },
        ],
        queryable: true,
        infoFormats: ['text/plain'],
        legends: [
          {
            style: 'population',
            url: 'http://internal:8080/legend.png',
            format: 'image/png',
            width: 81,
            height: 80,
          },
          // Asked of the source, whose address can be reached.
          { style: 'pophatch', format: 'image/png', width: 60, height: 20 },
        ],
      },
    ]);
    expect(reported).toEqual(
      expect.arrayContaining([
        'changed: OnlineResource of service',
        'left out: CRS of service',
        'taken: Style of layer topp:states',
        'left out: Dimension elevation of layer topp:states',
      ]),
    );
    expect(checkImported({ layers, gridSets: [] }).refused).toEqual([]);
  });

  it('WMS capabilities contain all layers that have a name, also inside groups', async () => {
    const { layers } = await read(WMS_1_3_0);
    expect(layers.map(({ name }) => name)).toEqual(['topp:states', 'inner']);
  });

  it('WMS capabilities with thousands of CRS become layers in the usual grid sets only', async () => {
    const crs = [...Array.from({ length: 60 }, (_, i) => 32601 + i), 4326, 3857].map(
      (code) => `<CRS>EPSG:${code}</CRS>`,
    );
    const { layers, report } = await read(
      WMS_1_3_0.replace('<CRS>EPSG:3857</CRS><CRS>EPSG:31467</CRS>', crs.join('')),
      ['inner'],
    );
    expect(layers[0]?.gridSets).toEqual([{ name: 'EPSG:900913' }, { name: 'EPSG:4326' }]);
    expect(report.entries).toContainEqual(
      expect.objectContaining({
        fate: 'left out',
        element: 'CRS',
        what: expect.stringContaining('and 40 more'),
      }),
    );
  });

  const CITY =
    `<WMS_Capabilities version="1.3.0"><Capability><Request><GetMap><Format>image/png</Format></GetMap></Request>
  <Layer><Title>City</Title><EX_GeographicBoundingBox><westBoundLongitude>9.9</westBoundLongitude><eastBoundLongitude>10.1</eastBoundLongitude>
    <southBoundLatitude>53.5</southBoundLatitude><northBoundLatitude>53.6</northBoundLatitude></EX_GeographicBoundingBox>
    <Layer><Name>parcels</Name><Title>Parcels</Title><CRS>EPSG:25832</CRS><CRS>EPSG:31467</CRS></Layer>
    <Layer><Name>roads</Name><CRS>EPSG:25832</CRS><CRS>EPSG:3857</CRS></Layer>
    <Layer><Name>all</Name>MANY<BoundingBox CRS="EPSG:25832" minx="1" miny="1" maxx="2" maxy="2"/></Layer>
  </Layer></Capability></WMS_Capabilities>`.replace(
      'MANY',
      Array.from({ length: 60 }, (_, i) => `<CRS>EPSG:${25820 + i}</CRS>`).join(''),
    );

  it('CRS without a grid set are listed with the extent of their layers, and so are layers that need one', async () => {
    const { layers, missing, withoutGridSet } = await read(CITY);
    expect(layers.map(({ name }) => name)).toEqual(['roads']);
    expect(missing).toEqual([
      { srs: 25832, layers: 3, degrees: [9.9, 53.5, 10.1, 53.6] },
      { srs: 31467, layers: 1, degrees: [9.9, 53.5, 10.1, 53.6] },
    ]);
    expect(withoutGridSet).toEqual([
      { name: 'parcels', title: 'Parcels', crs: ['EPSG:25832', 'EPSG:31467'] },
      { name: 'all', title: '', crs: ['EPSG:25832'] },
    ]);
  });

  it('layers of the whole world say nothing about the extent of a grid set', async () => {
    const all = CITY.replace('>9.9<', '>-180<').replace('>10.1<', '>180<').replace('>53.5<', '>-90<');
    const { missing } = await read(all.replace('>53.6<', '>90<'));
    expect(missing[0]).toEqual({ srs: 25832, layers: 3, degrees: null });
  });

  it('a declared grid set is used by all layers in its CRS, however many CRS they have', async () => {
    const extent = boundsOf([-46133, 5048875, 1206211, 6301219]);
    const own = createGridSet({ name: 'utm32', srs: 25832, extent, levels: 10 });
    const { layers, missing } = await read(CITY, null, undefined, [...gridSets, own]);
    expect(layers.map(({ name }) => name)).toEqual(['parcels', 'roads', 'all']);
    expect(layers[2]?.gridSets).toEqual([
      { name: 'utm32', extent: [559557.97, 5928270.67, 572964.45, 5939581.42] },
    ]);
    expect(missing.map(({ srs }) => srs)).toEqual([31467]);
  });

  it('an import of an unknown WMS layer lists the existing ones', async () => {
    await expect(read(WMS_1_3_0, ['top:states'])).rejects.toThrow('did you mean topp:states?');
  });
});

const corner = -20037508.3427892;
const matrix = (z: number, id = String(z), top = `${corner} ${-corner}`) =>
  `<TileMatrix><ows:Identifier>${id}</ows:Identifier><ScaleDenominator>${559082264.028717 / 2 ** z}</ScaleDenominator>
   <TopLeftCorner>${top}</TopLeftCorner><TileWidth>256</TileWidth><TileHeight>256</TileHeight>
   <MatrixWidth>${2 ** z}</MatrixWidth><MatrixHeight>${2 ** z}</MatrixHeight></TileMatrix>`;
const swiss = (scale: number, id: string) =>
  `<TileMatrix><ows:Identifier>${id}</ows:Identifier><ScaleDenominator>${scale}</ScaleDenominator>
   <TopLeftCorner>2420000 1350000</TopLeftCorner><TileWidth>256</TileWidth><TileHeight>256</TileHeight>
   <MatrixWidth>${Math.ceil(480000 / (256 * scale * 0.00028))}</MatrixWidth><MatrixHeight>${Math.ceil(320000 / (256 * scale * 0.00028))}</MatrixHeight></TileMatrix>`;

const WMTS = `<Capabilities xmlns="http://www.opengis.net/wmts/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" version="1.0.0"><Contents>
  <Layer><ows:Title>Basemap</ows:Title><ows:Identifier>base</ows:Identifier>
    <ows:WGS84BoundingBox><ows:LowerCorner>-180 -85.0511</ows:LowerCorner><ows:UpperCorner>180 85.0511</ows:UpperCorner></ows:WGS84BoundingBox>
    <Style isDefault="true"><ows:Identifier>day</ows:Identifier></Style><Style><ows:Identifier>night</ows:Identifier></Style>
    <Format>image/png</Format><Format>image/x-odd</Format>
    <TileMatrixSetLink><TileMatrixSet>google</TileMatrixSet></TileMatrixSetLink>
    <TileMatrixSetLink><TileMatrixSet>2056</TileMatrixSet></TileMatrixSetLink></Layer>
  <TileMatrixSet><ows:Identifier>google</ows:Identifier><ows:SupportedCRS>urn:ogc:def:crs:EPSG::3857</ows:SupportedCRS>${[0, 1, 2, 3].map((z) => matrix(z)).join('')}</TileMatrixSet>
  <TileMatrixSet><ows:Identifier>2056</ows:Identifier><ows:SupportedCRS>urn:ogc:def:crs:EPSG::2056</ows:SupportedCRS>${[
    [14285714.2857, '0'],
    [7142857.14286, '1'],
    [1785714.28571, '2'],
  ]
    .map(([scale, id]) => swiss(Number(scale), String(id)))
    .join('')}</TileMatrixSet>
</Contents></Capabilities>`;

describe('the capabilities of a WMTS', () => {
  it('WMTS capabilities use the grid sets that fit, and declare others', async () => {
    const {
      layers,
      gridSets: declared,
      reported,
    } = await read(WMTS, null, 'http://maps.example.org/1.0.0/WMTSCapabilities.xml');
    expect(layers).toEqual([
      {
        name: 'base',
        title: 'Basemap',
        source: { type: 'wmts', url: 'http://maps.example.org/1.0.0/WMTSCapabilities.xml', layer: 'base' },
        formats: ['image/png'],
        gridSets: [{ name: 'EPSG:900913', zoomStop: 3 }, { name: '2056' }],
        parameters: [{ name: 'STYLES', default: 'day', values: ['day', 'night'] }],
      },
    ]);
    expect(declared).toMatchObject([
      { name: '2056', srs: 2056, levelNames: ['0', '1', '2'], tileSize: [256, 256] },
    ]);
    expect(reported).toContain('left out: Format of layer base');
    expect(checkImported({ layers, gridSets: declared }).refused).toEqual([]);
  });
});

describe('what is no capabilities document', () => {
  it.each([
    ['<html><body/></html>', 'The address answers with html, not with capabilities'],
    [
      '<ServiceExceptionReport><ServiceException>No such map</ServiceException></ServiceExceptionReport>',
      'No such map',
    ],
    ['<WMS_Capabilities/>', 'the capabilities have no GetMap'],
    ['not xml', 'The answer is not XML'],
    ['<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 'The answer is not XML'],
  ])('a document other than capabilities is refused: %s', async (text, message) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'request-invalid',
      message: expect.stringContaining(message),
    });
  });
});

it.each([
  ['http://a/wms', 'http://a/wms?SERVICE=WMS&REQUEST=GetCapabilities'],
  ['http://a/ows?map=x', 'http://a/ows?map=x&SERVICE=WMS&REQUEST=GetCapabilities'],
  ['http://a/service/wmts', 'http://a/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities'],
  ['http://a/x?service=WMTS', 'http://a/x?service=WMTS&REQUEST=GetCapabilities'],
  ['http://a/1.0.0/WMTSCapabilities.xml', 'http://a/1.0.0/WMTSCapabilities.xml'],
  [
    'http://a/wms?request=GetCapabilities&version=1.1.1',
    'http://a/wms?request=GetCapabilities&version=1.1.1',
  ],
])('the capabilities of %s are read at %s', (given, address) => {
  expect(capabilitiesAddress(given).href).toBe(address);
});
