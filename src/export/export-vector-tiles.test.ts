import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { PMTiles } from 'pmtiles';
import { beforeEach, describe, expect, it } from 'vitest';
import { exportedPart, fileSource, vectorTile } from '../../test/fixtures/archives.ts';
import { format, layerNamed } from '../../test/fixtures/http-app.ts';
import { needs } from '../../test/fixtures/needs.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { exportTiles } from './export-tiles.ts';

const LAYER = layerNamed('roads', { formats: [format('application/vnd.mapbox-vector-tile')] });
const ROADS = vectorTile('roads', { name: 'A7', lanes: 4, toll: false });
const LAKES = vectorTile('lakes', { name: 'Como', lanes: 'none' });

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-export-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
});

/** One tile as it came unpacked, one packed, one empty. */
async function exportTo(
  name: string,
  vectorLayers: readonly unknown[] = [],
  onProgress: () => void = () => {},
): Promise<string> {
  const store = createMemoryStore({ type: 'memory' });
  const { set, content } = exportedPart(LAYER, { layer: 'roads' });
  const generation = await store.marks('roads');
  const write = (x: number, y: number, bytes: Buffer) => ({ x, y, bytes, createdAt: 1 });
  await store.put(set, 1, [write(0, 0, ROADS), write(1, 0, Buffer.alloc(0))], generation);
  await store.put(set, 2, [write(3, 3, gzipSync(LAKES)), write(0, 0, ROADS)], generation);
  const target = join(folder, name);
  const { signal } = new AbortController();
  await exportTiles({ store, set, content, area: null, target, vectorLayers, signal, onProgress });
  return target;
}

function metadataOf(target: string): Readonly<Record<string, string>> {
  const db = new Database(target, { readonly: true });
  const rows = db.prepare<[], { name: string; value: string }>('SELECT name, value FROM metadata').all();
  db.close();
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

const LAYERS = [
  { id: 'roads', fields: { name: 'String', lanes: 'Number', toll: 'Boolean' }, minzoom: 1, maxzoom: 2 },
  { id: 'lakes', fields: { name: 'String', lanes: 'String' }, minzoom: 2, maxzoom: 2 },
];

describe('an export of vector tiles', () => {
  it('an export of vector tiles to PMTiles is read by its own reader, compressed by the server or not', async () => {
    const archive = new PMTiles(fileSource(await exportTo('a.pmtiles')));
    const [unpacked, packed] = [await archive.getZxy(1, 0, 0), await archive.getZxy(2, 3, 3)];
    expect(Buffer.from(unpacked?.data ?? new ArrayBuffer(0))).toEqual(ROADS);
    expect(Buffer.from(packed?.data ?? new ArrayBuffer(0))).toEqual(LAKES);
    expect((await archive.getZxy(1, 1, 0))?.data.byteLength).toBe(0);
    expect(await archive.getMetadata()).toMatchObject({ vector_layers: LAYERS });
  });

  it('an export of vector tiles to MBTiles has gzip tiles and names their layers and attributes', async () => {
    const target = await exportTo('a.mbtiles');
    expect(JSON.parse(metadataOf(target).json ?? '')).toEqual({ vector_layers: LAYERS });
    const db = new Database(target, { readonly: true });
    const tiles = db.prepare<[], Buffer>('SELECT tile_data FROM tiles').pluck().all();
    db.close();
    expect(tiles.map((tile) => gunzipSync(tile).length)).toContain(ROADS.length);
  });

  it(
    'an export of vector tiles to MBTiles is read by GDAL with its layers, attributes and features',
    needs('gdal'),
    async () => {
      const target = await exportTo('a.mbtiles');
      const said = execFileSync('ogrinfo', ['-ro', '-al', target], { encoding: 'utf8' });
      expect(said).toMatch(/Layer name: roads/);
      expect(said).toMatch(/Layer name: lakes/);
      expect(said).toMatch(/name \(String\) = Como/);
    },
  );

  it('an export of vector tiles takes the layers that its source describes', async () => {
    const described = [{ id: 'roads', description: 'All roads', fields: { name: 'Its name' } }, 'nonsense'];
    const target = await exportTo('a.mbtiles', described);
    expect(JSON.parse(metadataOf(target).json ?? '').vector_layers).toEqual([described[0]]);
  });
});

describe('an export of vector tiles that was interrupted', () => {
  it.each(['a.mbtiles', 'a.pmtiles'])('a resumed vector tile export has the layers of %s', async (name) => {
    const interrupted = exportTo(name, [], () => {
      throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    const target = await exportTo(name);
    const layers = name.endsWith('.pmtiles')
      ? await new PMTiles(fileSource(target)).getMetadata()
      : JSON.parse(metadataOf(target).json ?? '');
    expect(layers).toMatchObject({ vector_layers: expect.arrayContaining(LAYERS) });
  });
});

describe('an export of pictures', () => {
  it('an export of pictures names no vector layers', async () => {
    const pictures = layerNamed('world');
    const store = createMemoryStore({ type: 'memory' });
    const { set, content } = exportedPart(pictures, { layer: 'world' });
    const tile = { x: 0, y: 0, bytes: Buffer.from('a picture'), createdAt: 1 };
    await store.put(set, 0, [tile], await store.marks('world'));
    const target = join(folder, 'a.mbtiles');
    const watched = { signal: new AbortController().signal, onProgress: () => {} };
    await exportTiles({ store, set, content, area: null, target, vectorLayers: [], ...watched });
    expect(metadataOf(target)).not.toHaveProperty('json');
  });
});
