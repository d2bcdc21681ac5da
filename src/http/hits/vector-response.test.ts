import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { vectorTile } from '../../../test/fixtures/archives.ts';
import {
  catalogOf,
  createTestApp,
  format,
  layerNamed,
  tileResponse,
} from '../../../test/fixtures/http-app.ts';
import { acceptsGzip } from '../negotiate.ts';

const VECTOR = format('application/vnd.mapbox-vector-tile');
const TILE = vectorTile('roads');
const PACKED = gzipSync(TILE);

function ask(bytes: Buffer, headers: Record<string, string> = {}) {
  const app = createTestApp({
    deps: {
      catalog: catalogOf([layerNamed('roads', { formats: [VECTOR] })]),
      pipeline: { read: async () => tileResponse({ bytes }) },
    },
  });
  return app.inject({ url: '/tiles/roads/0/0/0.pbf', headers: { host: 'localhost', ...headers } });
}

describe('a vector tile', () => {
  it('a vector tile is sent compressed to clients that accept it, and plain to others', async () => {
    const packed = await ask(PACKED, { 'accept-encoding': 'br, gzip' });
    expect(packed.headers).toMatchObject({
      'content-type': 'application/vnd.mapbox-vector-tile',
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
    });
    expect(gunzipSync(packed.rawPayload).equals(TILE)).toBe(true);
    const plain = await ask(PACKED);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers.vary).toBe('Accept-Encoding');
    expect(plain.rawPayload.equals(TILE)).toBe(true);
    expect(plain.headers.etag).not.toBe(packed.headers.etag);
    const again = await ask(PACKED, { 'if-none-match': String(plain.headers.etag) });
    expect([again.statusCode, again.headers.vary]).toEqual([304, 'Accept-Encoding']);
  });

  it('a vector tile that is stored plain is sent plain', async () => {
    const { headers, rawPayload } = await ask(TILE, { 'accept-encoding': 'gzip' });
    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
    expect(rawPayload.equals(TILE)).toBe(true);
  });

  it('a vector tile without features is a 204', async () => {
    const { statusCode, headers } = await ask(Buffer.alloc(0));
    expect([statusCode, headers['x-cache'], headers['content-length']]).toEqual([204, 'HIT', undefined]);
  });
});

it.each([
  ['gzip', true],
  ['deflate, gzip;q=0.5', true],
  ['*', true],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['identity', false],
  [undefined, false],
])('the Accept-Encoding %s accepts gzip: %s', (header, accepted) => {
  expect(acceptsGzip(header)).toBe(accepted);
});
