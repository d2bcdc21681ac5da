import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { ADMIN_PASSWORD, runCommand } from './server.ts';
import { openServer } from './server-in-process.ts';
import { LAYER, openWms, roadsConfig, shareOpenTaskServer, type TaskServer, tilesOf } from './task-server.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

type Callee = Pick<TaskServer, 'url' | 'authorization'>;

/** Runs to the end as the administrator. */
function command(server: Callee, ...args: string[]) {
  const token = server.authorization.replace('Bearer ', '');
  return runCommand(args, { TILEWARDEN_SERVER: server.url, TILEWARDEN_TOKEN: token });
}

/** A process that can be interrupted. */
async function launch(server: Callee, ...args: string[]) {
  const env = { ...process.env, TILEWARDEN_SERVER: server.url, TILEWARDEN_PASSWORD: ADMIN_PASSWORD };
  const child = await started(
    spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => {
    output.stdout += data;
  });
  child.stderr.on('data', (data) => {
    output.stderr += data;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output, ended };
}

const jsonLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; state: string; tilesProcessed: number });

const shared = shareOpenTaskServer();

describe('seeding from the command line', () => {
  it('tilewarden seed fills the cache, prints a summary and ends with 0', async () => {
    const { wms, server } = shared;
    const dry = await command(server, 'seed', LAYER, '--zoom-stop', '3', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toContain('Estimate: 85 tiles in 7 metatiles; nothing was started.');
    expect(wms.requests.length).toBe(0);

    const seed = await command(
      server,
      'seed',
      LAYER,
      '--zoom-stop',
      '3',
      '--threads',
      '2',
      '--format',
      'png',
    );
    expect(seed).toMatchObject({ code: 0, stderr: '' });
    expect(seed.stdout).toMatch(
      /^Task 1, seed roads, is done\n {2}85 of 85 tiles · 85 created · 0 already cached/m,
    );
    await server.expectTiles(tilesOf(0, 3), { cache: 'HIT' });

    wms.version = 2;
    const args = ['--zoom-start', '2', '--zoom-stop', '2', '--bounds', '-20037508,1,-1,20037508'];
    const reseed = await command(server, 'reseed', LAYER, ...args, '--json');
    const lines = jsonLines(reseed.stdout);
    expect([reseed.code, reseed.stderr]).toEqual([0, '']);
    expect(lines.at(-1)).toMatchObject({
      id: 2,
      type: 'reseed',
      state: 'done',
      tilesProcessed: 4,
      tilesTotal: 4,
    });

    const area = join(temporaryFolder(), 'area.geojson');
    const ring = [
      [-170, 5],
      [-100, 5],
      [-100, 60],
      [-170, 60],
      [-170, 5],
    ];
    writeFileSync(area, JSON.stringify({ type: 'Polygon', coordinates: [ring] }));
    const truncate = await command(
      server,
      'truncate',
      LAYER,
      '--zoom-start',
      '2',
      '--zoom-stop',
      '2',
      '--area',
      area,
    );
    expect(truncate).toMatchObject({ code: 0, stderr: '' });
    expect(truncate.stdout).toContain('1 tile deleted');

    const all = await command(server, 'tasks', '--all');
    expect(
      all.stdout
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/ +/).slice(0, 4)),
    ).toEqual([
      ['ID', 'LAYER', 'TYPE', 'STATE'],
      ['3', LAYER, 'truncate', 'done'],
      ['2', LAYER, 'reseed', 'done'],
      ['1', LAYER, 'seed', 'done'],
    ]);
    expect((await command(server, 'tasks')).stdout).toContain('No active tasks.');
  });

  it('tilewarden tasks pauses, resumes and stops a task, and watch ends with 1', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const begun = await command(server, 'seed', LAYER, '--zoom-start', '6', '--no-wait', '--json');
    const [{ id } = { id: 0 }] = jsonLines(begun.stdout);
    expect(begun.code).toBe(0);
    const watch = await launch(server, 'tasks', 'watch', String(id));
    await eventually(
      'it is watched',
      () => watch.output.stdout,
      (text) => text.includes(`Task ${id}: 0 of`),
    );

    expect((await command(server, 'tasks', 'list')).stdout).toMatch(new RegExp(`^ *${id}  ${LAYER} `, 'm'));
    expect((await command(server, 'tasks', 'pause', String(id))).stdout).toContain('is paused');
    expect((await command(server, 'tasks', 'show', String(id))).stdout).toContain(`seed ${LAYER}, is paused`);
    expect(await command(server, 'tasks', 'pause', String(id))).toMatchObject({
      code: 1,
      stderr: `Task ${id} cannot be paused.\n`,
    });
    expect((await command(server, 'tasks', 'resume', String(id))).stdout).toContain('resumed');
    const cancelled = await command(server, 'tasks', 'stop', String(id));
    expect(cancelled.stdout).toContain('was stopped by token:tests');
    expect(await watch.ended).toBe(1);
    expect(watch.output.stdout).toContain('was stopped by token:tests');
    expect(await command(server, 'tasks', 'show', '99')).toMatchObject({
      code: 1,
      stderr: 'There is no such task.\n',
    });
  });

  it('tilewarden seed leaves the task running at Ctrl-C and prints the command to stop it', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const seed = await launch(server, 'seed', LAYER);
    await eventually(
      'it has begun',
      () => seed.output.stdout,
      (text) => /^Task \d+: 0 of/m.test(text),
    );
    const id = Number(/^Task (\d+)/m.exec(seed.output.stdout)?.[1]);
    seed.child.kill('SIGINT');
    expect(await seed.ended).toBe(130);
    expect(seed.output.stderr).toContain(`Task ${id} continues on the server.`);
    expect(seed.output.stderr).toContain(`tilewarden tasks stop ${id}`);
    expect((await server.list()).map((row) => row[3])).toEqual([id]);
  });
});

describe('a server that restarts', () => {
  it('tilewarden seed keeps watching its task over a restart of the server', async () => {
    const wms = await openWms();
    const config = roadsConfig(wms);
    const first = await openServer({ config });
    wms.answer = { delayMs: 100 };
    const seed = await launch(first, 'seed', LAYER, '--zoom-stop', '4', '--threads', '4');
    await eventually(
      'the seed is in the middle',
      () => wms.requests.length,
      (asked) => asked > 10,
    );
    await first.stop();
    await eventually(
      'the command has noticed',
      () => seed.output.stderr,
      (text) => text.includes('still trying'),
    );
    const { port } = new URL(first.url);
    const second = await openServer({ config, data: first.data, flags: { port } });
    expect(await seed.ended).toBe(0);
    expect(seed.output.stdout).toContain('is done\n  341 of 341 tiles');
    await second.stop();
  });
});

describe('lists for scripts', () => {
  it('tilewarden layers lists layers with source, grid sets and stored tiles', async () => {
    const { server } = shared;
    const table = await command(server, 'layers');
    expect(table).toMatchObject({ code: 0, stderr: '' });
    expect(table.stdout).toMatch(
      /^NAME +TITLE +SOURCE +GRID SETS +TILES +SIZE +STATE\nroads +\S+ +wms +EPSG:900913/,
    );
    const { layers } = JSON.parse((await command(server, 'layers', '--json')).stdout);
    expect(layers).toEqual([expect.objectContaining({ name: LAYER, source: 'wms', enabled: true })]);
  });

  it('tilewarden schedules lists schedules with their next runs, also of one layer', async () => {
    const { server } = shared;
    expect((await command(server, 'schedules')).stdout).toBe('No schedules.\n');
    const schedule = { layer: LAYER, name: 'nightly', type: 'reseed', cron: '0 2 * * *', zoomStop: 1 };
    const made = await fetch(`${server.url}/api/v1/schedules`, {
      method: 'POST',
      headers: { authorization: server.authorization, 'content-type': 'application/json' },
      body: JSON.stringify(schedule),
    });
    expect(made.status).toBe(201);
    const table = await command(server, 'schedules', '--layer', LAYER);
    expect(table.stdout).toMatch(
      /\n +\d+ +roads +nightly +reseed +0 2 \* \* \* +UTC +\d{4}-\d\d-\d\d .* never\n$/,
    );
    expect((await command(server, 'schedules', '--layer', 'other')).stdout).toBe('No schedules.\n');
    expect(JSON.parse((await command(server, 'schedules', '--json')).stdout).schedules).toHaveLength(1);
  });
});

describe('flags of the command line', () => {
  it('errors of the server name the flags of the command line', async () => {
    const { server } = shared;
    const old = await command(server, 'clear', LAYER, '--older-than', '7d', '--dry-run');
    expect(old).toMatchObject({ code: 0, stdout: 'Would delete 0 tiles, 0 B, in 0 tile sets\n' });
    const age = await command(server, 'clear', LAYER, '--older-than', 'a week');
    expect(age).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^--older-than must be a time span/),
    });
    const zoom = await command(server, 'seed', LAYER, '--zoom-start', '-1');
    expect(zoom).toMatchObject({ code: 1, stderr: expect.stringMatching(/^--zoom-start must be/) });
  });
});

describe('a server without accounts and configuration', () => {
  it('tilewarden seed needs no credentials for a server without accounts', async () => {
    const server = await openServer({ flags: { 'no-auth': 'true' } });
    const args = ['seed', 'world', '--zoom-stop', '2', '--parameter', 'STYLES=dark', '--format', 'webp'];
    const seed = await runCommand(args, { TILEWARDEN_SERVER: server.url });
    expect(seed).toMatchObject({ code: 0, stderr: '' });
    expect(seed.stdout).toContain('21 of 21 tiles · 21 created');
    const tile = await fetch(`${server.url}/tiles/world/2/1/1.webp?STYLES=dark`);
    expect([tile.status, tile.headers.get('x-cache')]).toEqual([200, 'HIT']);
    await server.stop();
  });
});

describe('errors of the command line', () => {
  it('the command line prints a clear message about an unreachable server', async () => {
    const end = await runCommand(['seed', 'roads', '--server', 'http://127.0.0.1:9', '--token', 'x']);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toContain('The server at http://127.0.0.1:9 cannot be reached');
  });

  it('the command line prints a clear message about credentials, layers and flags', async () => {
    const { server } = shared;
    const as = (env: Record<string, string>, ...args: string[]) =>
      runCommand([...args, '--server', server.url], env);
    expect((await as({}, 'seed', LAYER)).stderr).toContain('The server requires credentials.');
    expect(await as({ TILEWARDEN_PASSWORD: 'wrong' }, 'seed', LAYER)).toMatchObject({
      code: 1,
      stderr: 'The server does not accept this password for admin.\n',
    });
    expect((await as({ TILEWARDEN_TOKEN: 'wrong' }, 'tasks')).stderr).toContain('does not accept this token');
    const typo = await command(server, 'seed', 'raods');
    expect(typo).toMatchObject({ code: 1, stderr: 'There is no layer raods. Did you mean roads?\n' });
    const far = await command(server, 'seed', 'x:unheard-of');
    expect(far.stderr).toBe('There is no layer x:unheard-of. There are: roads.\n');
    const format = await command(server, 'seed', LAYER, '--format', 'gif');
    expect(format.code).toBe(1);
    expect(format.stderr).toContain('image/png');
    const bounds = await command(server, 'seed', LAYER, '--bounds', '1,2,3');
    expect(bounds).toMatchObject({
      code: 2,
      stderr: '--bounds must be four numbers, MINX,MINY,MAXX,MAXY, not 1,2,3.\n',
    });
    expect((await command(server, 'seed')).stderr).toContain('tilewarden seed LAYER');
    expect((await command(server, 'tasks', 'stob', '1')).stderr).toContain('did you mean stop?');
    expect((await command(server, 'tasks', 'stop')).stderr).toContain('needs the number of a task');

    const made = await server.request(
      'POST',
      '/api/v1/tokens',
      JSON.stringify({ name: 'nightly', role: 'operator', layers: ['*'] }),
      'application/json',
    );
    const { token } = (await made.json()) as { token: string };
    expect(await as({ TILEWARDEN_TOKEN: token }, 'seed', LAYER, '--zoom-stop', '0')).toMatchObject({
      code: 0,
    });
  });
});

describe('seeding by use', () => {
  const line = (path: string) =>
    `::1 - - [17/Nov/2026:03:00:00 +0000] "GET ${path} HTTP/1.1" 200 9 "-" "-"\n`;
  const wmts = (z: number, x: number, y: number) =>
    `/geowebcache/service/wmts?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=${LAYER}&STYLE=&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:${z}&TILEROW=${y}&TILECOL=${x}`;

  it('a seed from an access log makes the most requested pages, and its dry run none', async () => {
    const { wms, server } = shared;
    const log = join(temporaryFolder(), 'access.log');
    const hot = line(`/tiles/${LAYER}/5/20/10.png`).repeat(60) + line(wmts(5, 20, 11)).repeat(35);
    const json = { method: 'GET', path: `/tiles/${LAYER}/5/1/1.png`, status: 200 };
    const cold = `${JSON.stringify(json)}\n${line('/tiles/unknown/5/1/1.png')}${line('/api/v1/me')}damaged\n`;
    writeFileSync(log, hot + cold);
    const args = ['seed', LAYER, '--from-log', log, '--zoom-stop', '5'];
    const dry = await command(server, ...args, '--dry-run');
    expect(dry.stderr).toBe(`96 of 98 requests are for tiles of ${LAYER}.\n`);
    expect(dry.stdout).toContain('Estimate: 256 tiles in 16 metatiles');
    expect(dry.stdout).toContain('98.9 % covered');
    expect(wms.requests.length).toBe(0);
    expect(await command(server, ...args)).toMatchObject({ code: 0 });
    await server.expectTiles([{ z: 5, x: 31, y: 0 }], { cache: 'HIT' });
    await server.expectTiles([{ z: 5, x: 1, y: 1 }], { cache: 'MISS' });
  });

  it('a seed by use makes the requested pages, and is rejected without recorded use', async () => {
    const { wms, server } = shared;
    const args = ['seed', LAYER, '--grid-set', 'EPSG:4326', '--order', 'use'];
    expect(await command(server, ...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no use is recorded there'),
    });
    await server.tile({ z: 1, x: 3, y: 1 }, 'EPSG:4326');
    await server.tile({ z: 1, x: 3, y: 1 }, 'EPSG:4326');
    await server.untilStored();
    const asked = wms.requests.length;
    const seed = await command(server, ...args, '--share', '1');
    expect(seed.stdout).toContain('40 of 40 tiles');
    expect(wms.requests.length - asked).toBe(2);
  });

  it.each([
    [['--share', '0.5'], '--share requires'],
    [['--order', 'size'], '--order must be zoom or use'],
    [['--order', 'use', '--share', '2'], '--share must be above 0'],
    [['--from-log', '/nonexistent/access.log'], 'cannot be read'],
  ])('a seed with %j is rejected', async (flags, message) => {
    const refused = await command(shared.server, 'seed', LAYER, ...flags);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
