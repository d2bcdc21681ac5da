import { describe, expect, it } from 'vitest';
import { layerNamed } from '../../test/fixtures/http-app.ts';
import type { InfoRequest, InfoResponse, TileSource } from '../sources/tile-source.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { askFeatureInfo, type FeatureInfoRequest } from './feature-info.ts';
import { resolveTileSet } from './resolve-tile-set.ts';

const REQUEST: FeatureInfoRequest = {
  bounds: { minX: 0, minY: 0, maxX: 90, maxY: 90 },
  width: 256,
  height: 256,
  i: 3,
  j: 4,
  infoFormat: 'text/plain',
  featureCount: 5,
  signal: new AbortController().signal,
};

function ask(answer: Partial<InfoResponse> & { text?: string }, changes: Partial<FeatureInfoRequest> = {}) {
  const requests: InfoRequest[] = [];
  const source: TileSource = {
    maxMetatile: null,
    fetch: () => Promise.reject(new Error('no tile is fetched here')),
    async featureInfo(request) {
      requests.push(request);
      return { bytes: Buffer.from(answer.text ?? 'a hill'), mediaType: 'text/plain', ...answer };
    },
    close: async () => {},
  };
  const layer = layerNamed('hills', { infoFormats: ['text/plain', 'text/xml', 'application/json'] });
  const bound = { layer, store: createMemoryStore({ type: 'memory' }), source: () => source };
  const parameters = new Map([['STYLES', 'dark']]);
  const tiles = resolveTileSet(bound, { gridSet: 'EPSG:4326', format: 'image/png', parameters });
  return { requests, info: askFeatureInfo(tiles, { ...REQUEST, ...changes }) };
}

describe('asking what lies there', () => {
  it('feature info passes on the request, with the layer’s own parameters, and the answer', async () => {
    const { requests, info } = ask({});
    expect(await info).toEqual({ bytes: Buffer.from('a hill'), mediaType: 'text/plain' });
    expect(requests[0]).toMatchObject({ i: 3, j: 4, featureCount: 5, width: 256, infoFormat: 'text/plain' });
    expect(requests[0]?.parameters.get('STYLES')).toBe('dark');
    expect(requests[0]?.gridSet.name).toBe('EPSG:4326');
  });

  it.each([
    ['a type of which one was asked for', { mediaType: 'application/xml' }, { infoFormat: 'text/xml' }],
    ['no type at all', { mediaType: null }, {}],
    ['JSON by another name', { mediaType: 'application/geo+json' }, { infoFormat: 'application/json' }],
  ])('feature info accepts %s', async (_, answer, changes) => {
    await expect(ask(answer, changes).info).resolves.toBeDefined();
  });

  it.each([
    ['a page instead', { mediaType: 'text/html' }, {}, 'wrong-type'],
    [
      'an exception',
      { text: '<?xml version="1.0"?>\n<ServiceExceptionReport version="1.1.1"/>', mediaType: 'text/xml' },
      { infoFormat: 'text/xml' },
      'service-exception',
    ],
    [
      'an exception called text',
      { text: '<ServiceExceptionReport version="1.1.1"/>', mediaType: 'text/plain' },
      {},
      'service-exception',
    ],
    ['more than anybody reads', { bytes: Buffer.alloc(5 * 1024 * 1024) }, {}, 'too-long'],
  ])('feature info refuses %s', async (_, answer, changes, reason) => {
    await expect(ask(answer, changes).info).rejects.toMatchObject({ code: 'source-bad-answer', reason });
  });

  it.each([
    ['a format that the layer does not have', { infoFormat: 'text/html' }],
    ['a map that is too large', { width: 100_000 }],
  ])('feature info does not pass on %s', async (_, changes) => {
    const { requests, info } = ask({}, changes);
    await expect(info).rejects.toMatchObject({ code: 'request-invalid' });
    expect(requests).toEqual([]);
  });
});
