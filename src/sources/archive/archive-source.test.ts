import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import {
  type ArchiveTile,
  pmtilesOf,
  vectorTile,
  writeMbtiles,
  writePmtiles,
} from '../../../test/fixtures/archives.ts';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { openTestUpstream } from '../../../test/fixtures/source-tools.ts';
import { type Format, formatOf } from '../../domain/format.ts';
import { encodeImage } from '../../raster/encode-image.ts';
import type { TileSource } from '../tile-source.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { archiveSourceOptions, openArchiveSource } from './archive-source.ts';

const VECTOR = formatOf('application/vnd.mapbox-vector-tile') as Format;
const LAYERS = [{ id: 'roads', fields: { name: 'String' } }];
const folder = mkdtempSync(join(tmpdir(), 'archive-'));
let png: Buffer;
let pictures: readonly ArchiveTile[];
const features: readonly ArchiveTile[] = [
  { z: 0, x: 0, y: 0, bytes: gzipSync(vectorTile('world')) },
  { z: 2, x: 0, y: 0, bytes: gzipSync(vectorTile('roads')) },
];

beforeAll(async () => {
  png = await encodeImage(
    { width: 256, height: 256, pixels: Buffer.alloc(256 * 256 * 4, 77) },
    formatOf('image/png') as Format,
  );
  pictures = [
    { z: 0, x: 0, y: 0, bytes: Buffer.from('not this one') },
    { z: 2, x: 0, y: 0, bytes: png },
    { z: 2, x: 1, y: 0, bytes: Buffer.from('nor this one') },
  ];
  writeMbtiles(join(folder, 'pictures.mbtiles'), 'png', pictures);
  writePmtiles(join(folder, 'pictures.pmtiles'), 'png', pictures);
  writeMbtiles(join(folder, 'features.mbtiles'), 'pbf', features, {
    json: JSON.stringify({ vector_layers: LAYERS }),
  });
  writePmtiles(join(folder, 'features.pmtiles'), 'pbf', features, { vector_layers: LAYERS });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A web server with one file, which answers requests for parts of it. */
class FileServer {
  file: Buffer = Buffer.alloc(0);
  version = 'one';
  behaviour: 'good' | 'broken' | 'hang' | 'no-ranges' = 'good';
  readonly ranges: string[] = [];
  readonly #server: Server = createServer((request, response) => {
    this.ranges.push(request.headers.range ?? '');
    if (this.behaviour === 'hang') return;
    if (this.behaviour === 'broken') return void response.writeHead(503).end();
    response.setHeader('etag', `"${this.version}"`);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (this.behaviour === 'no-ranges' || from === undefined) return void response.end(this.file);
    response.writeHead(206).end(this.file.subarray(Number(from), Number(to) + 1));
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/tiles.pmtiles`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let upstream: UpstreamClient;
let server: FileServer;
let url: string;
const clock = createVirtualClock();

async function openParts(): Promise<void> {
  upstream = openTestUpstream();
  server = new FileServer();
  url = await server.listen();
}
async function closeParts(): Promise<void> {
  await upstream.close();
  await server.close();
}

function open(options: object): TileSource {
  return openArchiveSource(archiveSourceOptions.parse({ type: 'archive', ...options }), {
    upstream,
    clock,
  });
}

describe.each(['mbtiles', 'pmtiles', 'remote'] as const)('%s', (kind) => {
  const where = () => {
    if (kind === 'remote') server.file = pmtilesOf('png', pictures);
    return kind === 'remote' ? { url } : { path: join(folder, `pictures.${kind}`) };
  };
  describeTileSource(`archive (${kind})`, {
    async open() {
      await openParts();
      const source = open(where());
      return {
        source,
        async close() {
          await source.close();
          await closeParts();
        },
      };
    },
    formats: ['image/png', 'image/jpeg'],
    gridSets: ['EPSG:900913', 'WebMercatorQuad'],
    breakIt:
      kind === 'remote'
        ? () => {
            server.behaviour = 'broken';
          }
        : null,
    hang:
      kind === 'remote'
        ? () => {
            server.behaviour = 'hang';
          }
        : null,
  });
});

describe('the archive source', () => {
  beforeEach(openParts);
  afterEach(closeParts);
  const at = (z: number, x: number, y: number, changes: object = {}) => {
    const request = sourceRequest({ tiles: 1, ...changes });
    return { ...request, metatile: { ...request.metatile, z, rect: { minX: x, minY: y, maxX: x, maxY: y } } };
  };
  const signal = new AbortController().signal;

  it.each(['pictures.mbtiles', 'pictures.pmtiles'])('an archive has the right tile of %s', async (name) => {
    const source = open({ path: join(folder, name) });
    expect(await source.fetch(at(2, 0, 0))).toMatchObject({ bytes: png, mediaType: 'image/png' });
    expect(await source.fetch(at(2, 0, 3))).toEqual({ kind: 'nothing' });
    expect(await source.fetch(at(9, 0, 3))).toEqual({ kind: 'nothing' });
    await source.close();
  });

  it.each(['features.mbtiles', 'features.pmtiles'])(
    'an archive source passes vector tiles of %s on as they are compressed',
    async (name) => {
      const source = open({ path: join(folder, name) });
      const answer = await source.fetch(at(2, 0, 0, { format: VECTOR }));
      expect(answer).toMatchObject({ bytes: features[1]?.bytes, mediaType: VECTOR.mediaType });
      expect(await source.vectorLayers?.(signal)).toEqual(LAYERS);
      await expect(source.fetch(at(2, 0, 0))).rejects.toMatchObject({
        reason: 'wrong-type',
        message: 'The tile archive holds application/vnd.mapbox-vector-tile, not image/png.',
      });
      await source.close();
    },
  );

  it('an archive source reads parts of a file on a server, its directories once', async () => {
    server.file = pmtilesOf('pbf', features, { vector_layers: LAYERS });
    const source = open({ url });
    for (let i = 0; i < 3; i++) {
      expect(await source.fetch(at(2, 0, 0, { format: VECTOR }))).toMatchObject({
        bytes: features[1]?.bytes,
      });
    }
    expect(server.ranges[0]).toBe('bytes=0-16383');
    expect(server.ranges).toHaveLength(4);
    expect(await source.vectorLayers?.(signal)).toEqual(LAYERS);
  });

  it('an archive source notices that a file on a server has been replaced', async () => {
    server.file = pmtilesOf('pbf', features);
    const source = open({ url });
    await source.fetch(at(0, 0, 0, { format: VECTOR }));
    const bytes = gzipSync(vectorTile('a longer name than before'));
    server.file = pmtilesOf('pbf', [{ z: 0, x: 0, y: 0, bytes }]);
    server.version = 'two';
    expect(await source.fetch(at(0, 0, 0, { format: VECTOR }))).toMatchObject({ bytes });
  });

  it('an archive source reads no metadata and no directory that unpack to many megabytes', async () => {
    const file = pmtilesOf('pbf', features, { vector_layers: LAYERS, filler: 'a'.repeat(3 * 2 ** 20) });
    server.file = file;
    expect(await open({ url }).vectorLayers?.(signal)).toEqual([]);
    const directory = gzipSync(Buffer.alloc(3 * 2 ** 20));
    server.file = Buffer.concat([file.subarray(0, 127), directory]);
    server.file.writeBigUInt64LE(BigInt(directory.length), 16);
    await expect(open({ url }).fetch(at(0, 0, 0, { format: VECTOR }))).rejects.toThrow();
  });

  it('an archive source accepts a server without ranges, while the file is small', async () => {
    server.file = pmtilesOf('png', pictures);
    server.behaviour = 'no-ranges';
    expect(await open({ url }).fetch(at(2, 0, 0))).toMatchObject({ bytes: png });
  });

  it.each(['mbtiles', 'pmtiles'])('an archive source notices a replaced .%s file', async (extension) => {
    const path = join(folder, `changing.${extension}`);
    const write = extension === 'mbtiles' ? writeMbtiles : writePmtiles;
    const put = (layer: string) => {
      const bytes = gzipSync(vectorTile(layer));
      write(`${path}.new`, 'pbf', [{ z: 0, x: 0, y: 0, bytes }]);
      renameSync(`${path}.new`, path);
      return bytes;
    };
    const first = put('first');
    const source = open({ path });
    expect(await source.fetch(at(0, 0, 0, { format: VECTOR }))).toMatchObject({ bytes: first });
    const second = put('the second one');
    clock.advance(1001);
    expect(await source.fetch(at(0, 0, 0, { format: VECTOR }))).toMatchObject({ bytes: second });
    await source.close();
  });

  it.each([
    ['a missing file', 'missing.mbtiles', null],
    ['a missing file', 'missing.pmtiles', null],
    ['something else', 'else.mbtiles', Buffer.alloc(5000, 65)],
    ['something else', 'else.pmtiles', Buffer.alloc(5000, 65)],
    ['half an archive', 'half.pmtiles', 'half'],
    ['places beyond all bounds', 'huge.pmtiles', 'huge'],
  ])('an archive source with %s (%s) fails, and works once it is mended', async (_, name, content) => {
    const whole = pmtilesOf('pbf', features);
    const huge = Buffer.from(whole);
    huge.writeBigUInt64LE(2n ** 52n, 8);
    const wrong = content === 'half' ? whole.subarray(0, 140) : content === 'huge' ? huge : content;
    const path = join(folder, name);
    if (wrong) writeFileSync(path, wrong as Buffer);
    const source = open({ path });
    const failure = await source.fetch(at(2, 0, 0, { format: VECTOR })).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^source-/), reason: 'archive' });
    expect((failure as Error).message).not.toContain(folder);
    rmSync(path, { force: true });
    (name.endsWith('mbtiles') ? writeMbtiles : writePmtiles)(path, 'pbf', features);
    expect(await source.fetch(at(2, 0, 0, { format: VECTOR }))).toMatchObject({ kind: 'encoded' });
    await source.close();
  });

  it.each(['pipe.mbtiles', 'pipe.pmtiles'])('an archive source does not wait for a pipe %s', async (name) => {
    const path = join(folder, name);
    execFileSync('mkfifo', [path]);
    const source = open({ path });
    await expect(source.fetch(at(2, 0, 0))).rejects.toMatchObject({ code: 'source-unavailable' });
    await source.close();
  });

  it('an archive source lists the grid sets it counts in', async () => {
    const path = join(folder, 'pictures.mbtiles');
    await expect(open({ path }).fetch(at(2, 0, 0, { gridSetName: 'EPSG:4326' }))).rejects.toMatchObject({
      message: 'The tile archive has no tiles in grid set EPSG:4326; it has web mercator.',
    });
    const other = open({ path, gridSets: ['EPSG:4326'] });
    expect(await other.fetch(at(2, 0, 0, { gridSetName: 'EPSG:4326' }))).toMatchObject({ kind: 'encoded' });
  });

  it.each([
    [{}, 'needs either path or url'],
    [{ path: 'a.mbtiles', url: 'http://a.test/b.pmtiles' }, 'needs either path or url'],
    [{ path: 'a.zip' }, 'must end in .mbtiles or .pmtiles'],
    [{ url: 'file:///etc/passwd' }, 'must be an http or https address'],
  ])('an archive source refuses the options %j', (options, message) => {
    const issues = archiveSourceOptions.safeParse({ type: 'archive', ...options }).error?.issues ?? [];
    expect(issues.map((issue) => issue.message).join()).toContain(message);
  });
});
