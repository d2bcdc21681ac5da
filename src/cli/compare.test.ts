import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openHttpServer } from '../../test/fixtures/network.ts';
import { filledImage } from '../raster/decode-image.ts';
import { encodeImage } from '../raster/encode-image.ts';
import { importCommand } from './import.ts';
import { runCli } from './run-cli.ts';

/** 0xAABBGGRR. */
const picture = (colour: number, size = 8) =>
  encodeImage(filledImage(size, size, colour), { mediaType: 'image/png' });

type Responses = Readonly<Record<string, { status?: number; type?: string; body: Buffer | string }>>;

async function serve(responses: Responses): Promise<{ url: string; paths: string[] }> {
  const paths: string[] = [];
  const server = await openHttpServer(({ url = '' }, response) => {
    paths.push(url);
    const {
      status = 200,
      type = 'image/png',
      body,
    } = responses[url] ?? { status: 404, type: 'text/plain', body: '' };
    response.writeHead(status, { 'content-type': type, connection: 'close' }).end(body);
  });
  onTestFinished(server.close);
  return { url: server.url, paths };
}

async function run(...args: readonly string[]) {
  let [out, err] = ['', ''];
  const code = await runCli(['import', ...args], [importCommand], {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}

function logOf(paths: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-compare-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lines = paths.map(
    (path) => `- - - [18/Nov/2026:03:00:00 +0000] "GET ${path} HTTP/1.1" 200 5 "-" "-"\n`,
  );
  writeFileSync(join(folder, 'access.log'), lines.join(''));
  return join(folder, 'access.log');
}

it('a comparison reports each difference between two servers, also as a page with the pictures', async () => {
  const red = await picture(0xff0000ff);
  const nearlyRed = await picture(0xff0000fd);
  const [clear, clearWhite] = await Promise.all([picture(0), picture(0x00ffffff)]);
  const exception = {
    type: 'text/xml',
    body: '<ServiceExceptionReport><ServiceException/></ServiceExceptionReport>',
  };
  const capabilities = '<Capability><Exception><Format>XML</Format></Exception></Capability>';
  const old = await serve({
    '/m/equal.png': { body: red },
    '/m/near.png': { body: red },
    '/m/clear.png': { body: clear },
    '/m/blue.png': { body: red },
    '/m/size.png': { body: red },
    '/m/type': { body: red },
    '/m/exception': { body: red },
    '/m/gone.png': { body: red },
    '/m/new.png': { status: 500, body: '' },
    '/m/both.png': exception,
    '/m/capabilities': { type: 'text/xml', body: capabilities },
    '/m/demo/': { type: 'text/html', body: '' },
  });
  const fresh = await serve({
    '/equal.png': { body: red },
    '/near.png': { body: nearlyRed },
    '/clear.png': { body: clearWhite },
    '/blue.png': { body: await picture(0xffff0000) },
    '/size.png': { body: await picture(0xff0000ff, 4) },
    '/type': { type: 'image/gif', body: red },
    '/exception': exception,
    '/new.png': { body: red },
    '/both.png': { status: 400, type: 'text/plain', body: '' },
    '/capabilities': { type: 'application/xml', body: capabilities },
  });
  const names = [
    'equal.png',
    'near.png',
    'clear.png',
    'blue.png',
    'size.png',
    'type',
    'exception',
    'gone.png',
    'new.png',
  ];
  const log = logOf([...names, 'both.png', 'capabilities', 'demo/'].map((name) => `/m/${name}`));
  const page = `${log}.html`;
  const { code, out } = await run(
    '--compare',
    `${old.url}/m`,
    '--requests',
    log,
    '--server',
    fresh.url,
    '--page',
    page,
  );
  expect(code).toBe(1);
  expect(out).toMatch(/same +4\ndiffers +3\nonly-old +2\nonly-new +1\nneither +1\n/);
  expect(out).toMatch(/differs +100\.00 % of pixels, by up to 255 +\/m\/blue\.png/);
  expect(out).toMatch(/differs +another size +\/m\/size\.png/);
  expect(out).toMatch(/differs +type image\/png → image\/gif +\/m\/type/);
  expect(out).toMatch(/only-old +new: an exception report +\/m\/exception/);
  expect(out).toMatch(/only-new +old: status 500 +\/m\/new\.png/);
  expect(readFileSync(page, 'utf8')).toContain(`data:image/png;base64,${red.toString('base64')}`);
});

it('a comparison of equal answers succeeds, and asks for a sample of different addresses', async () => {
  const body = await picture(0xff00ff00);
  const paths = Array.from({ length: 40 }, (_, i) => `/${i}.png`);
  const responses = Object.fromEntries(paths.map((path) => [path, { body }]));
  const [old, fresh] = [await serve(responses), await serve(responses)];
  const log = logOf([...paths, ...paths]);
  const flags = ['--compare', old.url, '--requests', log, '--server', fresh.url, '--sample', '10'];
  expect((await run(...flags)).code).toBe(0);
  expect(new Set(old.paths).size).toBe(10);
  expect(old.paths).toHaveLength(10);
  await run(...flags);
  expect(new Set(old.paths).size, 'the same sample').toBe(10);
});

it.each([1, 100])('a comparison of %d requests with a server that is down stops', async (count) => {
  const old = await serve({});
  const log = logOf(Array.from({ length: count }, (_, i) => `/${i}.png`));
  const { code, err } = await run('--compare', old.url, '--requests', log, '--server', 'http://127.0.0.1:1');
  expect([code, err]).toEqual([1, expect.stringContaining('http://127.0.0.1:1 cannot be reached')]);
  expect(old.paths.length).toBeLessThan(10);
});

it.each([
  [
    'only pages',
    ['/', '/demo/?srs=EPSG:3857', '/demo/static/site.css', '/favicon.ico'],
    'no answered GET request',
  ],
  ['refused by both servers', ['/a.png', '/b.png'], 'Both servers refuse every request'],
])('a log with %s proves nothing', async (_, paths, message) => {
  const [old, fresh] = [await serve({}), await serve({})];
  const flags = ['--compare', old.url, '--requests', logOf(paths), '--server', fresh.url];
  expect(await run(...flags)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
});

it.each([
  [['--compare', 'maps'], '--compare must be an address'],
  [['--compare', 'http://a.test'], '--compare requires --requests'],
  [
    ['--compare', 'http://a.test', '--requests', 'x', '--sample', '0'],
    '--sample must be a whole number from 1',
  ],
  [['--compare', 'http://a.test', '--requests', 'missing.log'], '--requests missing.log cannot be read'],
  [
    ['--compare', 'http://a.test', '--requests', 'x', '--page', 'missing/page.html'],
    'missing is not a folder',
  ],
  [['--requests', 'x'], '--requests requires --compare'],
  [[], 'Name a file, a folder or an address'],
])('the flags %j of an import are refused', async (args, message) => {
  expect(await run(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});
