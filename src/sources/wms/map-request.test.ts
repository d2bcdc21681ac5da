import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sourceRequest } from '../../../test/contracts/tile-source.ts';
import { type Format, formatOf } from '../../domain/format.ts';
import { plainNumber } from '../http-options.ts';
import { legendRequestUrl, mapRequestUrl, wmsSourceOptions } from './map-request.ts';

function query(options: object, changes: Parameters<typeof sourceRequest>[0] = {}): URLSearchParams {
  const parsed = wmsSourceOptions.parse({
    type: 'wms',
    url: 'http://maps.example/wms',
    layers: 'a',
    ...options,
  });
  return mapRequestUrl(parsed.url[0] ?? '', parsed, sourceRequest(changes)).searchParams;
}

function asked(mediaType: string, options: object = {}): string | null {
  return query(options, { format: formatOf(mediaType) as Format }).get('FORMAT');
}

describe('a GetMap request', () => {
  it('a GetMap request puts latitude first in 1.3.0 for EPSG:4326, and longitude first in 1.1.1', () => {
    const newer = query({ version: '1.3.0' }, { gridSetName: 'EPSG:4326' });
    expect(newer.get('CRS')).toBe('EPSG:4326');
    expect(newer.get('BBOX')).toBe('0,-180,90,-90');
    const older = query({ version: '1.1.1' }, { gridSetName: 'EPSG:4326' });
    expect(older.get('SRS')).toBe('EPSG:4326');
    expect(older.get('BBOX')).toBe('-180,0,-90,90');
  });

  it('a GetMap request uses CRS:84 for a grid set of degrees that has longitude first', () => {
    const { gridSet } = sourceRequest({ gridSetName: 'EPSG:4326' });
    const sent = query(
      { version: '1.3.0' },
      { gridSetName: 'EPSG:4326', gridSet: { ...gridSet, yCoordinateFirst: false } },
    );
    expect(sent.get('CRS')).toBe('CRS:84');
    expect(sent.get('BBOX')).toBe('-180,0,-90,90');
  });

  it('a GetMap request for a dense screen names its resolution, so that lines and letters keep their size', () => {
    const { gridSet } = sourceRequest({});
    const plain = query({});
    for (const name of ['FORMAT_OPTIONS', 'MAP_RESOLUTION', 'DPI']) expect(plain.has(name)).toBe(false);
    const dense = query({ vendorParameters: { DPI: '300' } }, { gridSet: { ...gridSet, pixelRatio: 2 } });
    expect([dense.get('FORMAT_OPTIONS'), dense.get('MAP_RESOLUTION'), dense.get('DPI')]).toEqual([
      'dpi:180',
      '144',
      '300',
    ]);
  });

  it('a GetMap request calls 900913 EPSG:3857 unless the server has another name', () => {
    expect(query({}).get('SRS')).toBe('EPSG:3857');
    expect(query({ srs: { 900913: 'EPSG:900913' } }).get('SRS')).toBe('EPSG:900913');
  });

  it('a GetMap request keeps the query of the address except for its own parameters', () => {
    const sent = query({ url: 'http://maps.example/cgi?map=/maps/a.map&layers=old&width=3' });
    expect(sent.get('map')).toBe('/maps/a.map');
    expect(sent.getAll('LAYERS')).toEqual(['a']);
    expect(sent.has('layers')).toBe(false);
    expect(sent.get('WIDTH')).toBe('512');
  });

  it('a GetMap request has the format of the tiles if any server has it, and PNG otherwise', () => {
    expect(asked('image/jpeg')).toBe('image/jpeg');
    expect(asked('image/webp')).toBe('image/png');
    expect(asked('image/png8')).toBe('image/png');
    expect(asked('image/png', { requestFormat: 'image/png; mode=24bit' })).toBe('image/png; mode=24bit');
  });

  it('a GetMap request is transparent only if the tiles can show it', () => {
    const jpeg = formatOf('image/jpeg') as Format;
    expect(query({ transparent: true }).get('TRANSPARENT')).toBe('TRUE');
    expect(query({ transparent: true }, { format: jpeg }).get('TRANSPARENT')).toBe('FALSE');
    expect(query({ bgColor: '#A0b1C2' }).get('BGCOLOR')).toBe('0xA0b1C2');
  });

  it('a GetMap request always contains STYLES, even when there are none', () => {
    expect(query({}).get('STYLES')).toBe('');
  });

  it('a GetMap request prints numbers in full', () => {
    expect(plainNumber(1e-7)).toBe('0.0000001');
    expect(plainNumber(-1.5e-9)).toBe('-0.0000000015');
    expect(plainNumber(1.25e21)).toBe('1250000000000000000000');
    expect(plainNumber(-0)).toBe('0');
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = plainNumber(value);
        expect(text).toMatch(/^-?\d+(\.\d+)?$/);
        expect(Number(text)).toBe(value === 0 ? 0 : value);
      }),
    );
  });
});

describe('the options of a wms source', () => {
  const valid = { type: 'wms', url: 'https://maps.example/wms', layers: 'a' };
  it.each([
    ['another scheme', { url: 'file:///etc/passwd' }],
    ['credentials in the address', { url: 'http://ann:secret@maps.example/wms' }],
    ['no address', { url: [] }],
    ['a header of two lines', { headers: { 'X-A': 'one\r\nHost: two' } }],
    ['a header that frames the answer', { headers: { 'Accept-Encoding': 'gzip' } }],
    ['another version', { version: '1.0.0' }],
    ['an unknown key', { layer: 'a' }],
  ])('the options of a WMS source refuse %s', (_, change) => {
    expect(wmsSourceOptions.safeParse({ ...valid, ...change }).success).toBe(false);
  });
});

describe('a GetLegendGraphic request', () => {
  it('a GetLegendGraphic request names the first layer and its style, and keeps address and options', () => {
    const options = wmsSourceOptions.parse({
      type: 'wms',
      url: 'http://maps.example/wms?map=/a.map&request=x',
      layers: 'a,b',
      styles: 's,t',
      vendorParameters: { KEY: 'k' },
      version: '1.3.0',
    });
    const request = { style: '', format: 'image/png', width: 20, height: null, scale: null };
    const { signal } = new AbortController();
    const { searchParams } = legendRequestUrl(options.url[0] ?? '', options, { ...request, signal });
    expect(Object.fromEntries(searchParams)).toEqual({
      map: '/a.map',
      KEY: 'k',
      SERVICE: 'WMS',
      VERSION: '1.3.0',
      REQUEST: 'GetLegendGraphic',
      SLD_VERSION: '1.1.0',
      LAYER: 'a',
      STYLE: 's',
      FORMAT: 'image/png',
      WIDTH: '20',
    });
  });
});
