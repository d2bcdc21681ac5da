/** Caches that MapProxy and MapCache have seeded themselves, imported: each tile must show its own place. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { readImported } from '../../src/cli/import.ts';
import type { Bounds } from '../../src/domain/bounds.ts';
import { getOrCreate } from '../../src/lib/get-or-create.ts';
import { writeSettingsFile } from '../../src/lib/yaml-file.ts';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { soon } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { type Place, showsPlace } from '../fixtures/mock-wms-pixels.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = await started(spawn(program, args, { cwd }));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
  const [code] = await soon(`${program} ends`, once(child, 'exit'), () => output);
  expect(code, output).toBe(0);
}

/** MapProxy writes PNG with a palette. */
const LOSSY = true;

interface Grid {
  readonly name: string;
  readonly srs: number;
  /** Columns and rows of each zoom that is seeded. */
  readonly sizes: readonly (readonly [number, number])[];
  /** Rows count from the top. */
  bounds(z: number, x: number, y: number): Bounds;
}

/** A grid of the test's own whose height is not a whole number of tiles: 3 tiles wide and 1.5 high at zoom 0. */
const WIDE = { srs: 3857, minX: 1_000_000, minY: 5_000_000, maxX: 1_768_000, maxY: 5_384_000 };
const SPANS = [256_000, 128_000];
const WIDE_SIZES = [
  [3, 2],
  [6, 3],
] as const;

function wideGrid(name: string, origin: 'sw' | 'nw'): Grid {
  return {
    name,
    srs: WIDE.srs,
    sizes: WIDE_SIZES,
    bounds(z, x, y) {
      const span = SPANS[z] ?? 0;
      const rows = WIDE_SIZES[z]?.[1] ?? 0;
      const top = origin === 'nw' ? WIDE.maxY : WIDE.minY + rows * span;
      const minX = WIDE.minX + x * span;
      return { minX, minY: top - (y + 1) * span, maxX: minX + span, maxY: top - y * span };
    },
  };
}

const HALF = 20037508.342789244;
const MERCATOR: Grid = {
  name: 'EPSG:900913',
  srs: 3857,
  sizes: [
    [1, 1],
    [2, 2],
    [4, 4],
  ],
  bounds(z, x, y) {
    const span = (2 * HALF) / 2 ** z;
    const minX = x * span - HALF;
    return { minX, minY: HALF - (y + 1) * span, maxX: minX + span, maxY: HALF - y * span };
  },
};

interface Moved {
  readonly server: OpenServer;
  readonly wms: MockWms;
}

/** A server with the imported layers, whose map server no longer answers. */
async function move(configuration: string, wms: MockWms): Promise<Moved> {
  const { layers, gridSets } = await readImported({ source: configuration });
  const upstreams = { [new URL(wms.url).host]: { allowPrivate: true } };
  const config = writeSettingsFile({ upstreams, gridSets, layers });
  wms.reset();
  wms.answer = 'xml';
  return { server: await openServer({ config, flags: { 'no-auth': 'true' } }), wms };
}

const parameters = new Map([['LAYERS', 'a']]);
/** By bytes and place: most caches have the same images, which are decoded once. */
const verdicts = new Map<string, Promise<boolean>>();

function isImageOf(bytes: Buffer, place: Place): Promise<boolean> {
  const key = `${createHash('sha256').update(bytes).digest('hex')} ${JSON.stringify(place)}`;
  return getOrCreate(verdicts, key, async () =>
    showsPlace(await decodeImage(bytes, { maxPixels: 256 ** 2 }), place, LOSSY),
  );
}

/** The tiles of a layer that are not hits, or show another place than their own. */
async function wrongTiles(
  { server }: Moved,
  layer: string,
  grid: Grid,
  extension = 'png',
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [z, [columns, rows]] of grid.sizes.entries()) {
    for (let at = 0; at < columns * rows; at++) {
      const [x, y] = [at % columns, Math.floor(at / columns)];
      const path = `tiles/${layer}/${grid.name}/${z}/${x}/${y}.${extension}`;
      const answer = await fetch(new URL(path, server.url));
      const bytes = Buffer.from(await answer.arrayBuffer());
      const place = { srs: grid.srs, bounds: grid.bounds(z, x, y), width: 256, height: 256, parameters };
      const isHit = answer.status === 200 && answer.headers.get('x-cache') === 'HIT';
      if (!isHit) wrong.push(`${path} ${answer.status} ${answer.headers.get('x-cache')}`);
      else if (!(await isImageOf(bytes, place))) wrong.push(`${path} elsewhere`);
    }
  }
  return wrong;
}

describe('a cache that MapProxy has seeded', needs('mapproxy'), () => {
  const grids = `
  wide_nw: { srs: 'EPSG:3857', bbox: [${Object.values(WIDE).slice(1)}], res: [1000, 500], origin: nw }
  wide_sw: { srs: 'EPSG:3857', bbox: [${Object.values(WIDE).slice(1)}], res: [1000, 500], origin: sw }`;
  /** By the name of the layer. */
  const caches: Readonly<
    Record<string, { readonly text: string; readonly grid: Grid; readonly extension?: string }>
  > = {
    ...Object.fromEntries(
      ['tc', 'mp', 'tms', 'reverse_tms', 'arcgis'].flatMap((paths) =>
        (['nw', 'sw'] as const).map((origin) => [
          `${paths}_${origin}`,
          {
            text: `grids: [wide_${origin}], cache: { type: file, directory_layout: ${paths} }`,
            grid: wideGrid(`wide_${origin}`, origin),
          },
        ]),
      ),
    ),
    mbtiles_nw: { text: 'grids: [wide_nw], cache: { type: mbtiles }', grid: wideGrid('wide_nw', 'nw') },
    mbtiles_sw: {
      text: 'grids: [wide_sw], cache: { type: mbtiles, filename: ./x.mbtiles }',
      grid: wideGrid('wide_sw', 'sw'),
    },
    sqlite_nw: { text: 'grids: [wide_nw], cache: { type: sqlite }', grid: wideGrid('wide_nw', 'nw') },
    sqlite_sw: {
      text: 'grids: [wide_sw], cache: { type: sqlite, directory: here }',
      grid: wideGrid('wide_sw', 'sw'),
    },
    geopackage_nw: { text: 'grids: [wide_nw], cache: { type: geopackage }', grid: wideGrid('wide_nw', 'nw') },
    geopackage_levels: {
      text: 'grids: [wide_nw], cache: { type: geopackage, levels: true }',
      grid: wideGrid('wide_nw', 'nw'),
    },
    compact_nw: {
      text: 'grids: [wide_nw], cache: { type: compact, version: 2 }',
      grid: wideGrid('wide_nw', 'nw'),
    },
    compact_sw: {
      text: 'grids: [wide_sw], cache: { type: compact, version: 1 }',
      grid: wideGrid('wide_sw', 'sw'),
    },
    quadkey: {
      text: 'grids: [GLOBAL_WEBMERCATOR], cache: { type: file, directory_layout: quadkey }',
      grid: MERCATOR,
    },
    web: { text: 'grids: [GLOBAL_WEBMERCATOR], cache: { type: mbtiles }', grid: MERCATOR },
    usual: { text: 'format: image/png', grid: MERCATOR },
    named: {
      text: 'grids: [GLOBAL_WEBMERCATOR], cache: { type: file, use_grid_names: true }',
      grid: MERCATOR,
    },
    elsewhere: { text: 'grids: [GLOBAL_MERCATOR], cache_dir: ./other', grid: MERCATOR },
    mixed: { text: 'format: mixed, request_format: image/png', grid: MERCATOR, extension: 'jpeg-png' },
  };
  let moved: Moved;

  beforeAll(async () => {
    const wms = await openMockWms();
    const folder = temporaryFolder();
    const entries = Object.entries(caches);
    writeFileSync(
      join(folder, 'mapproxy.yaml'),
      `services: { tms: }
layers:
${entries.map(([name]) => `  - { name: ${name}, title: ${name}, sources: [${name}] }`).join('\n')}
caches:
${entries.map(([name, { text }]) => `  ${name}: { sources: [wms], meta_buffer: 0, ${text} }`).join('\n')}
sources: { wms: { type: wms, req: { url: '${wms.url}', layers: a } } }
grids:${grids}
`,
    );
    writeFileSync(
      join(folder, 'seed.yaml'),
      `seeds:
${entries
  .map(([name, { grid }]) => `  ${name}: { caches: [${name}], levels: { to: ${grid.sizes.length - 1} } }`)
  .join('\n')}
`,
    );
    const args = ['-f', 'mapproxy.yaml', '-s', 'seed.yaml', '-c', '1', '--quiet'];
    await run(programPath('mapproxy'), args, folder);
    moved = await move(join(folder, 'mapproxy.yaml'), wms);
  });
  afterAll(async () => {
    await moved.wms.close();
  });

  it.each(Object.keys(caches))(
    'a MapProxy cache shows every place at its position after the move: %s',
    async (name) => {
      const { grid, extension } = caches[name] ?? { grid: MERCATOR };
      expect(await wrongTiles(moved, name, grid, extension)).toEqual([]);
    },
  );
});

describe('a cache that MapCache has seeded', needs('mapcache'), () => {
  const tilesets: Readonly<
    Record<
      string,
      {
        readonly there: string;
        readonly cache: string;
        readonly format: string;
        readonly grid: Grid;
        readonly extension?: string;
      }
    >
  > = {
    top: { there: 'wide_nw', cache: 'disk', format: 'PNG', grid: wideGrid('wide_nw', 'nw') },
    bottom: { there: 'wide_sw', cache: 'disk', format: 'PNG', grid: wideGrid('wide_sw', 'sw') },
    file_top: { there: 'wide_nw', cache: 'file_top', format: 'PNG', grid: wideGrid('wide_nw', 'nw') },
    file_bottom: { there: 'wide_sw', cache: 'file_bottom', format: 'PNG', grid: wideGrid('wide_sw', 'sw') },
    web: { there: 'g', cache: 'disk', format: 'PNG', grid: MERCATOR },
    photo: {
      there: 'GoogleMapsCompatible',
      cache: 'disk',
      format: 'JPEG',
      grid: MERCATOR,
      extension: 'jpeg',
    },
    mixed: { there: 'g', cache: 'disk', format: 'mixed', grid: MERCATOR, extension: 'jpeg-png' },
  };
  let moved: Moved;

  beforeAll(async () => {
    const wms = await openMockWms();
    const folder = temporaryFolder();
    const grid = (name: string, origin: string) =>
      `<grid name="${name}"><srs>EPSG:3857</srs><units>m</units><extent>${Object.values(WIDE).slice(1).join(' ')}</extent>
       <resolutions>1000 500</resolutions><size>256 256</size><origin>${origin}</origin></grid>`;
    const file = (name: string) =>
      `<cache name="${name}" type="mbtiles"><dbfile>${folder}/${name}.mbtiles</dbfile></cache>`;
    writeFileSync(
      join(folder, 'mapcache.xml'),
      `<mapcache><source name="wms" type="wms"><getmap><params><FORMAT>image/png</FORMAT><LAYERS>a</LAYERS></params></getmap>
       <http><url>${wms.url}</url></http></source><cache name="disk" type="disk"><base>${folder}/disk</base></cache>
       ${file('file_top')}${file('file_bottom')}${grid('wide_nw', 'top-left')}${grid('wide_sw', 'bottom-left')}
       ${Object.entries(tilesets)
         .map(
           ([name, { there, cache, format }]) =>
             `<tileset name="${name}"><source>wms</source><cache>${cache}</cache><grid>${there}</grid>
              <format>${format}</format><metatile>2 2</metatile></tileset>`,
         )
         .join('')}
       <service type="wms" enabled="true"/><lock_dir>${folder}</lock_dir></mapcache>`,
    );
    for (const [
      name,
      {
        there,
        grid: { sizes },
      },
    ] of Object.entries(tilesets)) {
      const zooms = `0,${sizes.length - 1}`;
      await run(
        programPath('mapcache'),
        ['-c', 'mapcache.xml', '-t', name, '-g', there, '-z', zooms, '-q'],
        folder,
      );
    }
    moved = await move(join(folder, 'mapcache.xml'), wms);
  });
  afterAll(async () => {
    await moved.wms.close();
  });

  it.each(Object.keys(tilesets))(
    'a MapCache cache shows every place at its position after the move: %s',
    async (name) => {
      const { grid, extension } = tilesets[name] ?? { grid: MERCATOR };
      expect(await wrongTiles(moved, name, grid, extension)).toEqual([]);
    },
  );
});
