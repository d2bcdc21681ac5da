import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SettingsInput } from './environment.ts';
import { type LoadedSettings, loadSettings } from './load-settings.ts';
import { SettingsError } from './settings-error.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-settings-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function load(yaml: string | null, input: Partial<SettingsInput> = {}): Promise<LoadedSettings> {
  if (yaml !== null) writeFileSync(join(folder, 'tilewarden.yaml'), yaml);
  return loadSettings({ flags: {}, environment: {}, workingFolder: folder, ...input });
}

async function problemsOf(
  yaml: string | null,
  input: Partial<SettingsInput> = {},
): Promise<readonly string[]> {
  try {
    await load(yaml, input);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('adopted caches', () => {
  const adopting = (adopt: string, store = 'bundle') => `
stores: { default: { type: ${store} } }
layers:
  - name: topp:states
    source: { type: wms, url: 'http://127.0.0.1:8090/wms', layers: states }
    gridSets: [EPSG:900913]
    adopt: ${adopt}
`;

  it('several adopted caches are found relative to the file', async () => {
    const { settings } = await load(
      `${adopting('[{ layout: geowebcache, folder: gwc }, { layout: mbtiles, file: /a.mbtiles }]')}adoptFolders: [old]`,
    );
    expect(settings.layers[0]?.adopt).toEqual([
      { layout: 'geowebcache', folder: join(folder, 'gwc'), paths: 'default', gridSets: {}, within: null },
      { layout: 'mbtiles', file: '/a.mbtiles', origin: 'sw', within: null },
    ]);
    expect(settings.adoptFolders).toEqual([join(folder, 'old')]);
  });

  it('the folder of an adopted cache in a bucket is not looked for on this machine', async () => {
    const buckets = 'adoptBuckets: { old: { type: s3, bucket: tiles } }';
    const { settings } = await load(`${adopting('{ layout: xyz, folder: a/b, bucket: old }')}${buckets}`);
    expect(settings.layers[0]?.adopt).toMatchObject([{ folder: 'a/b', bucket: 'old' }]);
  });

  it.each([
    ['{ layout: geopackage, file: a.gpkg }', { file: 'a.gpkg' }],
    ['{ layout: geopackage, folder: a }', { folder: 'a' }],
    ['{ layout: arcgis-compact, folder: a }', { folder: 'a' }],
    ['{ layout: arcgis-compact, file: a.tpkx }', { file: 'a.tpkx' }],
    ['{ layout: mapproxy-sqlite, folder: a }', { folder: 'a' }],
  ])('an adopted cache is found relative to the file: %s', async (adopt, place) => {
    const [adopted] = (await load(adopting(adopt))).settings.layers[0]?.adopt ?? [];
    const absolute = Object.entries(place).map(([key, path]) => [key, join(folder, path)]);
    expect(adopted).toMatchObject(Object.fromEntries(absolute));
  });

  it.each([
    [
      '{ layout: geowebcach, folder: a }',
      /adopt.layout must be one of geowebcache, geowebcache-mbtiles, mapcache, mapcache-sqlite, mapproxy, mapproxy-sqlite, arcgis-compact, geopackage, tms/,
    ],
    ['{ layout: geowebcache }', /adopt.folder is missing/],
    [
      '{ layout: xyz, folder: a, bucket: old }',
      /adopt.bucket names the bucket of adoptBuckets old, which is not declared/,
    ],
    ['{ layout: mbtiles, file: a, bucket: old }', /adopt.bucket is not a setting/],
    ['{ layout: mapproxy, folder: a, paths: hash }', /adopt.paths must be one of tc, mp, tms, reverse_tms/],
    ['{ layout: geopackage, gridSet: EPSG:900913 }', /adopt needs either file or folder/],
    ['{ layout: geopackage, file: a.gpkg, folder: a }', /adopt needs either file or folder/],
    ['{ layout: arcgis-compact, folder: a, zoomOffset: 1.5 }', /adopt.zoomOffset/],
    ['{ layout: arcgis-compact, folder: a, file: a.tpkx }', /adopt needs either file or folder/],
    ['{ layout: tms, folder: a, paths: tc }', /adopt.paths is not a setting/],
    [
      '{ layout: tms, folder: a, gridSet: EPSG:4326 }',
      /adopt.gridSet names the grid set EPSG:4326, which the layer does not offer/,
    ],
    [
      '{ layout: geowebcache, folder: a, gridSets: { EPSG:4326: b } }',
      /adopt.gridSets names the grid set EPSG:4326/,
    ],
  ])('adopted caches are refused when they are wrong: %s', async (adopt, message) => {
    expect((await problemsOf(adopting(adopt))).join()).toMatch(message);
  });

  it('adopted caches are refused with a store that forgets truncations', async () => {
    expect((await problemsOf(adopting('{ layout: tms, folder: a }', 'memory'))).join()).toMatch(
      /adopt needs a store that outlives a restart/,
    );
  });
});
