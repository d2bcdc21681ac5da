import { resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { importMapProxy } from './import-mapproxy.ts';

function read(yaml: string) {
  const options = { folder: '/mp', resolve, isThere: () => true, readText: () => null };
  const imported = importMapProxy(load(yaml), options);
  expect(checkImported(imported).refused).toEqual([]);
  return imported;
}

const layerOf = (cache: string, more = '') => `
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { sources: [s], ${cache} } }
sources: { s: { type: wms, req: { url: 'http://maps.example.org/wms', layers: a } } }
${more}`;

describe('caches of MapProxy in buckets', () => {
  it('MapProxy caches in S3 and Azure are adopted, in buckets of the cache or of the globals', () => {
    const s3 = read(
      layerOf(
        'grids: [GLOBAL_WEBMERCATOR], cache: { type: s3, directory: /maps/osm, bucket_name: tiles, directory_layout: quadkey }',
        "globals: { cache: { s3: { bucket_name: other, endpoint_url: 'http://s3.example.org' } } }",
      ),
    );
    expect(s3.layers[0]?.adopt).toMatchObject([
      { layout: 'mapproxy', bucket: 'tiles', folder: '/maps/osm', paths: 'quadkey', origin: 'nw' },
    ]);
    expect(s3.adoptBuckets).toEqual({
      tiles: { type: 's3', bucket: 'tiles', endpoint: 'http://s3.example.org', pathStyle: true },
    });
    const azure = read(layerOf('cache: { type: azureblob, container_name: tiles }'));
    expect(azure.layers[0]?.adopt).toMatchObject([
      { bucket: 'tiles', folder: 'c/GLOBAL_MERCATOR', paths: 'tms' },
    ]);
    expect(azure.adoptBuckets).toMatchObject({
      tiles: { connectionString: { env: 'AZURE_STORAGE_CONNECTION_STRING' } },
    });
    expect(read(layerOf('cache: { type: s3 }')).layers[0]?.adopt).toBeUndefined();
  });

  it('buckets of one name at two endpoints have two names, and caches in one bucket share it', () => {
    const s3 = (host: string) => `{ type: s3, bucket_name: tiles, endpoint_url: 'http://${host}' }`;
    const cache = (name: string, host: string) => `${name}: { sources: [], cache: ${s3(host)} }`;
    const yaml = `
layers: [{ name: a, title: A, sources: [ca] }, { name: b, title: B, sources: [cb] }, { name: c, title: C, sources: [cc] }]
caches: { ${cache('ca', 'one.test')}, ${cache('cb', 'two.test')}, ${cache('cc', 'one.test')} }`;
    const { layers, adoptBuckets } = read(yaml);
    expect(adoptBuckets).toMatchObject({
      tiles: { endpoint: 'http://one.test' },
      'tiles-2': { endpoint: 'http://two.test' },
    });
    expect(layers).toMatchObject([
      { adopt: [{ bucket: 'tiles' }] },
      { adopt: [{ bucket: 'tiles-2' }] },
      { adopt: [{ bucket: 'tiles' }] },
    ]);
  });
});
