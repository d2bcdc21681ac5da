import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';

/** Enough for the largest piece to be less than a tenth of the whole. */
const MANY = 2000;
/** The same for a document with some kilobytes for each layer. */
const MANY_LONG = 400;
const layers = Array.from({ length: MANY }, (_, index) => layerNamed(`layer-${index}`));
const DOCUMENTS = [
  ['/tiles.json', MANY],
  ['/service/wmts?REQUEST=GetCapabilities', MANY_LONG],
  ['/service/wms?REQUEST=GetCapabilities', MANY],
  ['/service/wms?REQUEST=GetCapabilities&TILED=true', MANY],
  ['/service/tms/1.0.0', MANY],
] as const;

/** Counts what is made of layers between two turns of the event loop: how long a turn takes depends on the machine. */
function watchedCatalog(field: 'title' | 'name' = 'title', count = MANY) {
  let [inTurn, most, total] = [0, 0, 0];
  const touched = () => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    inTurn++;
    total++;
    most = Math.max(most, inTurn);
  };
  const declared = layers.slice(0, count);
  const watched = declared.map((layer) =>
    // Every document has it, once for each layer.
    Object.defineProperty({ ...layer }, field, {
      get() {
        touched();
        return layer[field];
      },
    }),
  );
  const catalog = { ...catalogOf(declared), layers: () => watched };
  return { catalog, most: () => most, total: () => total };
}

describe('documents about many layers', () => {
  it.each(DOCUMENTS)('a document about many layers is written in pieces and once: %s', async (url, count) => {
    const { catalog, most, total } = watchedCatalog('title', count);
    const { request } = createTestApp({ deps: { catalog } });
    const { status, text } = await request('GET', url);
    expect(status).toBe(200);
    expect(text.split('Title of layer-').length).toBeGreaterThan(count);
    expect(most()).toBeLessThan(total() / 10);
    const written = total();
    for (const host of ['a.example', 'b.example']) {
      expect((await request('GET', url, { headers: { host } })).text).toContain('Title of layer-7');
    }
    expect(total()).toBe(written);
  });

  it.each([
    ['/api/v1/layers', 'title'],
    ['/rest/layers.xml', 'name'],
  ] as const)('the list of all layers is written in pieces: %s', async (url, field) => {
    const { catalog, most } = watchedCatalog(field);
    const { request } = createTestApp({ deps: { catalog } });
    const { status, text } = await request('GET', url);
    expect(status).toBe(200);
    expect(text).toContain(`layer-${MANY - 1}`);
    expect(most()).toBeLessThan(MANY / 10);
  });

  it.each(DOCUMENTS)(
    'a document is sent compressed if possible, with its length, and not sent twice: %s',
    async (url) => {
      const { inject } = createTestApp({ deps: { catalog: catalogOf(layers.slice(0, 300)) } });
      const plain = await inject({ method: 'GET', url });
      expect(plain.headers['content-length']).toBe(String(plain.rawPayload.length));
      const packed = await inject({ method: 'GET', url, headers: { 'accept-encoding': 'gzip' } });
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(packed.headers.vary).toContain('Accept-Encoding');
      expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
      expect(packed.rawPayload.length * 5).toBeLessThan(plain.rawPayload.length);
      const etag = String(packed.headers.etag);
      expect(plain.headers.etag).toBe(etag);
      const again = await inject({ method: 'GET', url, headers: { 'if-none-match': etag } });
      expect([again.statusCode, again.rawPayload.length]).toEqual([304, 0]);
      const head = await inject({ method: 'HEAD', url });
      expect([head.headers['content-length'], head.rawPayload.length]).toEqual([
        plain.headers['content-length'],
        0,
      ]);
    },
  );

  it('documents of several states of the catalog take less memory than one of them is long', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const state = { version: 0, shown: layers.slice(0, MANY_LONG) };
    const catalog = Object.defineProperties(catalogOf(state.shown), {
      version: { get: () => state.version },
      layers: { value: () => state.shown },
    });
    const { request } = createTestApp({ deps: { catalog } });
    const used: number[] = [];
    let length = 0;
    for (state.version of [1, 2, 3, 4, 5, 6, 7, 8]) {
      state.shown = state.shown.map((layer) => ({ ...layer, title: `State ${state.version}` }));
      const { text } = await request('GET', '/service/wmts?REQUEST=GetCapabilities');
      expect(text).toContain(`State ${state.version}`);
      length = text.length;
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      used.push(heapUsed + external);
    }
    // The median: other tests of this process take and free memory too.
    const growth = used.slice(1).map((bytes, at) => bytes - (used[at] ?? 0));
    expect(growth.sort((a, b) => a - b)[3]).toBeLessThan(length / 3);
  });

  it.each(['json', 'html'])('the list of the OGC API comes in pages, as %s', async (f) => {
    const { inject } = createTestApp({ deps: { catalog: catalogOf(layers) } });
    const { body } = await inject(`/ogc/collections?f=${f}`);
    expect(body).toContain('layer-99');
    expect(body).not.toContain('layer-100');
    expect(body).toContain('offset=100');
  });

  it('the pages of the OGC API lead to each other until all layers were shown', async () => {
    const { inject } = createTestApp({ deps: { catalog: catalogOf(layers.slice(0, 620)) } });
    const seen: string[] = [];
    let url: string | undefined = '/ogc/collections?limit=9999';
    while (url !== undefined) {
      const page = JSON.parse((await inject(url)).body);
      expect(page.numberMatched).toBe(620);
      expect(page.numberReturned).toBe(page.collections.length);
      seen.push(...page.collections.map(({ id }: { id: string }) => id));
      const next = page.links.find(({ rel }: { rel: string }) => rel === 'next')?.href;
      url = next === undefined ? undefined : new URL(next).pathname + new URL(next).search;
    }
    expect(seen).toEqual(layers.slice(0, 620).map(({ name }) => name));
  });

  it.each(['limit=0', 'limit=x', 'offset=-1', 'limit=1&limit=2'])('OGC page %s is refused', async (query) => {
    const { inject } = createTestApp();
    expect((await inject(`/ogc/collections?${query}`)).statusCode).toBe(400);
  });

  it.each([
    ['/service/wmts?REQUEST=GetCapabilities', 'wmts'],
    ['/service/wms?REQUEST=GetCapabilities', 'wms'],
    ['/service/wms?REQUEST=GetCapabilities&VERSION=1.1.1', 'wms'],
    ['/service/tms/1.0.0', 'tms'],
  ])('a capabilities document names the file to save it as: %s', async (url, service) => {
    const { headers } = await createTestApp().inject(url);
    expect(headers['content-disposition']).toBe(`inline;filename=${service}-getcapabilities.xml`);
  });
});

describe('documents about what all layers have', () => {
  it.each(['/ogc/tileMatrixSets', '/ogc/tileMatrixSets/EPSG:4326', '/ogc/conformance'])(
    'documents go through the layers once for each version of the catalog: %s',
    async (url) => {
      let reads = 0;
      const watched = layers.map((layer) => {
        const { gridSubsets, formats, access } = layer;
        const counted = <Value>(value: Value) => {
          reads++;
          return value;
        };
        return {
          ...layer,
          get gridSubsets() {
            return counted(gridSubsets);
          },
          get formats() {
            return counted(formats);
          },
          get access() {
            return counted(access);
          },
        };
      });
      const { request } = createTestApp({ deps: { catalog: catalogOf(watched) } });
      const { status, text } = await request('GET', url);
      expect(status).toBe(200);
      expect(reads).toBeGreaterThanOrEqual(MANY);
      reads = 0;
      expect((await request('GET', url)).text).toBe(text);
      expect(reads).toBeLessThan(10);
    },
  );
});
