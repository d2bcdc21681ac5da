/** Caches that MapProxy itself has written, of every type that can be adopted, in grids with either origin. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { formatOf } from '../../src/domain/format.ts';
import { boundsOfTile, createGridSet, type GridSet } from '../../src/domain/grid-set.ts';
import type { TileIndex } from '../../src/domain/tile-key.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { getOrCreate } from '../../src/lib/get-or-create.ts';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { type Adoption, adoptOptions } from '../../src/sources/adopted/adopt-options.ts';
import { openOldCaches } from '../../src/sources/adopted/old-caches.ts';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { type Place, showsPlace } from '../fixtures/mock-wms-pixels.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';

/** Its rows are 3 and 6: no power of two, and not as many as its columns. */
const UTM = createGridSet({
  name: 'utm',
  srs: 25832,
  extent: { minX: 280000, minY: 5235000, maxX: 280000 + 2 * 256000, maxY: 5235000 + 3 * 256000 },
  resolutions: [1000, 500],
});
const MERCATOR = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
const GRID_SETS: readonly GridSet[] = MERCATOR ? [MERCATOR, UTM] : [];

const GRIDS = `
  mercator_nw: { base: GLOBAL_WEBMERCATOR, num_levels: 12 }
  mercator_sw: { base: GLOBAL_MERCATOR, srs: 'EPSG:3857', num_levels: 12 }
  utm_nw: { srs: 'EPSG:25832', bbox: [280000, 5235000, 792000, 6003000], res: [1000, 500], origin: nw }
  utm_sw: { srs: 'EPSG:25832', bbox: [280000, 5235000, 792000, 6003000], res: [1000, 500], origin: sw }
`;

/** The caches in mapproxy.yaml, and how their folders or files are adopted. */
const CACHES = {
  sqlite: ['{ type: sqlite, directory: FOLDER }', { layout: 'mapproxy-sqlite', folder: 'FOLDER/GRID' }],
  geopackage: ['{ type: geopackage, filename: FOLDER.gpkg }', { layout: 'geopackage', file: 'FOLDER.gpkg' }],
  geopackages: [
    '{ type: geopackage, directory: FOLDER, levels: true }',
    { layout: 'geopackage', folder: 'FOLDER/GRID' },
  ],
  compact1: [
    '{ type: compact, version: 1, directory: FOLDER }',
    { layout: 'arcgis-compact', folder: 'FOLDER' },
  ],
  compact2: [
    '{ type: compact, version: 2, directory: FOLDER }',
    { layout: 'arcgis-compact', folder: 'FOLDER' },
  ],
  ...Object.fromEntries(
    ['reverse_tms', 'quadkey', 'arcgis'].map((paths) => [
      paths,
      [
        `{ type: file, directory_layout: ${paths}, directory: FOLDER }`,
        { layout: 'mapproxy', paths, folder: 'FOLDER' },
      ] as const,
    ]),
  ),
} as const;

const GRIDS_OF_TEST = ['mercator_nw', 'mercator_sw', 'utm_nw', 'utm_sw'];
const NAMES = GRIDS_OF_TEST.flatMap((grid) =>
  Object.keys(CACHES).map((type) => ({ grid, type, name: `${type}_${grid}` })),
);

/** Far from the first bundle, and not on a diagonal. */
const DEEP = { z: 9, x: 300, y: 140 };

/** All tiles of a few zooms, and one far away. */
function placesOf(gridSet: GridSet): readonly TileIndex[] {
  const shallow = [0, 1].flatMap((z) => {
    const { columns = 0, rows = 0 } = gridSet.levels[z] ?? {};
    return Array.from({ length: columns * rows }, (_, i) => ({
      z,
      x: i % columns,
      y: Math.floor(i / columns),
    }));
  });
  return gridSet === MERCATOR ? [...shallow, DEEP] : shallow;
}

/** By bytes and place: most caches have the same images, which are decoded once. */
const verdicts = new Map<string, Promise<boolean>>();

function isImageOf(bytes: Buffer, at: Pick<Place, 'srs' | 'bounds'>): Promise<boolean> {
  const key = `${createHash('sha256').update(bytes).digest('hex')} ${JSON.stringify(at)}`;
  const place = { ...at, width: 256, height: 256, parameters: new Map([['LAYERS', 'states']]) };
  return getOrCreate(verdicts, key, async () =>
    showsPlace(await decodeImage(bytes, { maxPixels: 256 * 256 }), place),
  );
}

/** MapProxy prints its errors on standard output. */
function withOutput(error: Error & { readonly stdout?: string }): never {
  throw new Error(`${error.message}\n${error.stdout ?? ''}`);
}

describe('a cache that MapProxy has written', needs('mapproxy'), () => {
  let folder: string;

  beforeAll(async () => {
    folder = temporaryFolder();
    const wms = await openMockWms();
    whenOver(() => wms.close());
    const caches = NAMES.map(({ grid, type, name }) => {
      const [cache] = CACHES[type as keyof typeof CACHES];
      return `  ${name}: { grids: [${grid}], sources: [wms], cache: ${cache.replace('FOLDER', join(folder, name))} }`;
    });
    writeFileSync(
      join(folder, 'mapproxy.yaml'),
      `services: { demo: }
globals: { cache: { base_dir: '${folder}/base', meta_size: [1, 1], meta_buffer: 0 }, image: { paletted: false } }
sources: { wms: { type: wms, supported_srs: ['EPSG:3857', 'EPSG:25832'], req: { url: '${wms.url}', layers: states } } }
grids:${GRIDS}
caches:\n${caches.join('\n')}\n`,
    );
    if (!MERCATOR) throw new Error('no web mercator');
    const { minX, minY, maxX, maxY } = boundsOfTile(MERCATOR, DEEP.z, DEEP.x, DEEP.y);
    const inside = [minX + 1, minY + 1, maxX - 1, maxY - 1].join(', ');
    const seeds = GRIDS_OF_TEST.map((grid) => {
      const caches = NAMES.filter((cache) => cache.grid === grid).map(({ name }) => name);
      const deep = `  deep_${grid}: { caches: [${caches}], levels: [${DEEP.z}], coverages: [deep] }\n`;
      return `  ${grid}: { caches: [${caches}], levels: { to: 1 } }\n${grid.startsWith('mercator') ? deep : ''}`;
    });
    writeFileSync(
      join(folder, 'seed.yaml'),
      `seeds:\n${seeds.join('')}coverages: { deep: { bbox: [${inside}], srs: 'EPSG:3857' } }\n`,
    );
    mkdirSync(join(folder, 'base'));
    const files = ['-f', join(folder, 'mapproxy.yaml'), '-s', join(folder, 'seed.yaml')];
    await promisify(execFile)(programPath('mapproxy'), [...files, '--concurrency', '1', '--quiet']).catch(
      withOutput,
    );
  });

  function adopted({ grid, type, name }: (typeof NAMES)[number], gridSet: GridSet): Adoption {
    const [, options] = CACHES[type as keyof typeof CACHES];
    const text = JSON.stringify(options).replaceAll('FOLDER', join(folder, name)).replaceAll('GRID', grid);
    const origin = grid.endsWith('nw') ? 'nw' : 'sw';
    return {
      ...adoptOptions.parse({ ...JSON.parse(text), gridSet: gridSet.name, origin }),
      within: [folder],
    };
  }

  function openedCache(cache: (typeof NAMES)[number]) {
    const gridSet = GRID_SETS.find(
      ({ name }) => name.startsWith('EPSG') === cache.grid.startsWith('mercator'),
    );
    const format = formatOf('image/png');
    if (!gridSet || !format) throw new Error('no grid set or format');
    const owner = { layer: 'states', gridSet: gridSet.name };
    const old = openOldCaches([adopted(cache, gridSet)], owner, {
      clock: systemClock,
      readObject: async () => null,
    });
    whenOver(() => old.close());
    return { old, gridSet, format };
  }

  const isAmbiguous = ({ grid, type }: (typeof NAMES)[number]) =>
    type === 'quadkey' && grid.startsWith('utm');

  it.each(NAMES.filter((cache) => !isAmbiguous(cache)))(
    'a MapProxy cache of type $type in the grid $grid shows every tile at its place',
    async (cache) => {
      const { old, gridSet, format } = openedCache(cache);
      const wrong: string[] = [];
      for (const tile of placesOf(gridSet)) {
        const { z, x, y } = tile;
        const found = await old.read({ gridSet, format, parameters: null, values: new Map(), tile });
        const bounds = boundsOfTile(gridSet, z, x, y);
        if (!found) wrong.push(`${z}/${x}/${y} is missing`);
        else if (!(await isImageOf(Buffer.from(found.bytes), { srs: gridSet.srs, bounds })))
          wrong.push(`${z}/${x}/${y} is wrong`);
      }
      expect(wrong).toEqual([]);
      const beside = { z: gridSet.levels.length - 1, x: 0, y: 0 };
      if (gridSet === MERCATOR) {
        expect(
          await old.read({ gridSet, format, parameters: null, values: new Map(), tile: beside }),
        ).toBeNull();
      }
    },
  );

  it.each(NAMES.filter(isAmbiguous))(
    'a MapProxy cache of type quadkey in the grid $grid serves nothing: its names are ambiguous',
    async (cache) => {
      const { old, gridSet, format } = openedCache(cache);
      const tiles = placesOf(gridSet).map((tile) =>
        old.read({ gridSet, format, parameters: null, values: new Map(), tile }),
      );
      expect((await Promise.all(tiles)).filter((tile) => tile !== null)).toEqual([]);
    },
  );
});
