import { describe, expect, it } from 'vitest';
import { needs } from '../../../test/fixtures/needs.ts';
import { sharedAzure, sharedS3 } from '../../../test/fixtures/shared-services.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { formatOf } from '../../domain/format.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import { openAzureObjects } from '../../storage/azure/azure-objects.ts';
import { azureBucketOptions } from '../../storage/azure/azure-store-options.ts';
import { openBuckets } from '../../storage/drivers.ts';
import type { ObjectStore } from '../../storage/objects/object-store.ts';
import { openS3Objects } from '../../storage/s3/s3-objects.ts';
import { s3BucketOptions } from '../../storage/s3/s3-store-options.ts';
import { adoptOptions } from './adopt-options.ts';
import { openOldCaches } from './old-caches.ts';

const ENV = { clock: systemClock, log: silentLogger };
const TOOLS = { ...ENV, random: systemRandom };

/** Keys as the other programs write them, of tile 3/2/1 (row 6 from the bottom). */
const KEYS = [
  [{ layout: 'geowebcache' }, 'image/png', null, 'topp:states/EPSG:900913/png/default/3/2/6.png'],
  [{ layout: 'geowebcache' }, 'image/png8', null, 'topp:states/EPSG:900913/png8/default/3/2/6.png'],
  [
    { layout: 'geowebcache' },
    'image/jpeg',
    ['STYLES', 'pophatch'],
    'topp:states/EPSG:900913/jpeg/7510004a12f49fdd49a2ba366e9c4594be7e4358/3/2/6.jpeg',
  ],
  [
    { layout: 'geowebcache', name: 'LayerInfoImpl--1' },
    'application/vnd.mapbox-vector-tile',
    null,
    'LayerInfoImpl--1/EPSG:900913/pbf/default/3/2/6.mapbox-vectortile',
  ],
  [{ layout: 'mapproxy', paths: 'tms' }, 'image/png', null, '3/2/6.png'],
  [{ layout: 'mapproxy', paths: 'tc', origin: 'nw' }, 'image/jpeg', null, '03/000/000/002/000/000/001.jpeg'],
  [{ layout: 'mapproxy', paths: 'mp' }, 'image/png', null, '03/0000/0002/0000/0006.png'],
  [{ layout: 'mapproxy', paths: 'reverse_tms' }, 'image/png', null, '6/2/3.png'],
  [{ layout: 'mapproxy', paths: 'quadkey', origin: 'nw' }, 'image/png', null, '012.png'],
  [{ layout: 'mapproxy', paths: 'arcgis' }, 'image/png', null, 'L03/R00000006/C00000002.png'],
  [
    { layout: 'mapcache', template: '{tileset}/{grid}/{z}/{x}/{inv_y}.{ext}', origin: 'nw' },
    'image/png',
    null,
    'topp:states/EPSG:900913/3/2/6.png',
  ],
] as const;

type Options = ReturnType<typeof s3BucketOptions.parse> | ReturnType<typeof azureBucketOptions.parse>;

async function s3Options(): Promise<Options> {
  return s3BucketOptions.parse({ type: 's3', ...(await sharedS3()), pathStyle: true });
}

async function azureOptions(): Promise<Options> {
  return azureBucketOptions.parse({ type: 'azure', ...(await sharedAzure()) });
}

async function openFor(options: Options): Promise<ObjectStore> {
  const opened = await (options.type === 's3'
    ? openS3Objects(options, TOOLS)
    : openAzureObjects(options, TOOLS));
  whenOver(() => opened.close());
  return opened;
}

function cacheIn(bucket: Options, adopt: object) {
  const buckets = openBuckets({ old: bucket }, ENV);
  whenOver(() => buckets.close());
  const adoption = { ...adoptOptions.parse({ bucket: 'old', ...adopt }), within: null };
  const owner = { layer: 'topp:states', gridSet: 'EPSG:900913' };
  return openOldCaches([adoption], owner, { clock: systemClock, readObject: buckets.read });
}

function requestOf(mediaType: string, parameters: readonly [string, string] | null) {
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  const format = formatOf(mediaType);
  if (!gridSet || !format) throw new Error('no such grid set or format');
  return {
    gridSet,
    format,
    parameters: parameters && new Map([parameters]),
    values: new Map(),
    tile: { z: 3, x: 2, y: 1 },
  };
}

describe.each([
  ['s3', s3Options, needs('s3')],
  ['azure', azureOptions, {}],
] as const)('adopted caches in a bucket of type %s', (type, optionsOf, condition) => {
  it('are read by the keys of each program and layout', condition, async () => {
    const options = await optionsOf();
    const bucket = await openFor(options);
    const found: string[] = [];
    for (const [at, [adopt, mediaType, parameters, key]] of KEYS.entries()) {
      const folder = `old-${type}/${at}`;
      await bucket.put(`${folder}/${key}`, Buffer.from(key));
      const cache = cacheIn(options, { folder: `/${folder}/`, ...adopt });
      const tile = await cache.read(requestOf(mediaType, parameters));
      found.push(tile?.bytes.toString() ?? `nothing for ${key}`);
      expect(Math.abs((tile?.changedAt ?? 0) - Date.now())).toBeLessThan(600_000);
    }
    expect(found).toEqual(KEYS.map(([, , , key]) => key));
  });

  it('have no tile under an absent key, and fail when the bucket is missing', condition, async () => {
    const options = await optionsOf();
    const missing = { ...options, [type === 's3' ? 'bucket' : 'container']: 'missing-one' };
    const adopt = { layout: 'xyz', folder: `nothing-${type}` };
    expect(await cacheIn(options, adopt).read(requestOf('image/png', null))).toBeNull();
    await expect(cacheIn(missing, adopt).read(requestOf('image/png', null))).rejects.toMatchObject({
      code: 'store-failed',
    });
  });
});
