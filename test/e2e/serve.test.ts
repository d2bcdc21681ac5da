import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type RunningServer, runCommand, runTilewarden, startServer, writeConfig } from './server.ts';
import { openServer } from './server-in-process.ts';
import { LAYER, openWms, roadsConfig } from './task-server.ts';

const TILE = '/tiles/world/3/4/2.png';

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  return {
    status: response.status,
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  };
}

/** Without those of the log. */
function plainLines(stderr: string): readonly string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
}

describe('a server without a configuration', () => {
  let server: RunningServer;
  const startedIn = temporaryFolder();
  beforeAll(async () => {
    server = await startServer({ cwd: startedIn });
  });
  afterAll(() => server.stop());

  it('a server without a configuration keeps running when its working folder is removed', async () => {
    rmSync(startedIn, { recursive: true });
    expect((await get(`${server.url}/tiles/world/0/0/0.png`)).status).toBe(200);
  });

  it('a server without a configuration makes a tile of the world, and caches it', async () => {
    const first = await get(server.url + TILE);
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toBe('image/png');
    expect(first.headers.get('x-cache')).toBe('MISS');
    expect(first.body.subarray(1, 4).toString()).toBe('PNG');
    const second = await get(server.url + TILE);
    expect(second.headers.get('x-cache')).toBe('HIT');
    expect(second.body.equals(first.body)).toBe(true);
  });

  it('a server without a configuration offers the documented grid sets, formats and styles', async () => {
    const { url } = server;
    const offered = ['EPSG:4326/2/3/1.png', '2/1/1.jpeg', '2/1/1.webp', '2/1/1.png?STYLES=dark'];
    for (const tile of offered)
      expect([tile, (await get(`${url}/tiles/world/${tile}`)).status]).toEqual([tile, 200]);
    const styles = ['light', 'dark', 'outline'].map((style) =>
      get(`${url}/tiles/world/2/1/1.png?STYLES=${style}`),
    );
    const pictures = (await Promise.all(styles)).map(({ body }) => body.toString('base64'));
    expect(new Set(pictures).size).toBe(3);
    expect((await get(`${url}/tiles/world/13/0/0.png`)).status).toBe(404);
  });

  it('a server without a configuration answers the probes', async () => {
    expect((await get(`${server.url}/healthz`)).status).toBe(200);
    expect((await get(`${server.url}/readyz`)).status).toBe(200);
  });

  it('a second server on the same data folder does not start, and the first is unharmed', async () => {
    const second = await runTilewarden(['serve', '--port', '0', '--data', server.data]);
    expect(second.code).toBe(1);
    expect(second.stdout).toBe('');
    expect(second.stderr).toContain(`The data folder ${server.data} is in use by another Tilewarden server.`);
    expect((await get(server.url + TILE)).status).toBe(200);
  });
});

describe('starting and stopping', () => {
  it('a server finishes running requests when it stops, and starts again, also after a kill', async () => {
    const tile = `/tiles/${LAYER}/0/0/0.png`;
    const wms = await openWms();
    const config = roadsConfig(wms);
    const first = await startServer({ config });
    const before = await get(first.url + tile);
    wms.answer = 'hang';
    const answer = get(`${first.url}/tiles/${LAYER}/5/16/10.png`);
    await eventually('the answer is under way', () => wms.active);
    const stopping = first.stop();
    await eventually('the server stops', first.stderr, (log) => log.includes('stopping'));
    wms.release();
    expect((await answer).status).toBe(200);
    const end = await stopping;
    expect(end.stdout).toBe(`Tilewarden is ready at ${first.url}/\n`);
    expect(end.code).toBe(0);

    const second = await startServer({ config, data: first.data });
    const after = await get(second.url + tile);
    expect(after.headers.get('x-cache')).toBe('HIT');
    expect(after.body.equals(before.body)).toBe(true);
    await second.kill();

    const third = await startServer({ config, data: first.data });
    expect((await get(third.url + tile)).status).toBe(200);
    await third.stop();
  });

  it.each(['file', 'file/below'])('a %s as data folder is reported in one line', async (path) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    const data = join(folder, path);
    const { code, stderr } = await runTilewarden(['serve', '--port', '0', '--data', data]);
    expect(code).toBe(1);
    expect(plainLines(stderr)).toEqual([
      `The data folder ${data} is a file, or below one. Choose another folder with --data.`,
    ]);
  });

  it('a data folder that no one can create is reported in one line', async () => {
    const { code, stderr } = await runTilewarden(['serve', '--port', '0', '--data', '/proc/none/data']);
    expect(code).toBe(1);
    expect(plainLines(stderr)).toEqual([
      'The data folder /proc/none/data cannot be created. Choose another folder with --data.',
    ]);
  });

  it('a server whose port is taken does not start, reports it and creates no data folder', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await eventually('the other program listens', () => other.listening);
    const address = other.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const data = join(temporaryFolder(), 'data');
    const { code, stderr } = await runTilewarden(['serve', '--port', port, '--data', data]);
    other.close();
    expect(code).toBe(1);
    expect(plainLines(stderr)).toEqual([
      `Port ${port} on 127.0.0.1 is taken by another program; choose another one with --port.`,
    ]);
    expect(existsSync(data)).toBe(false);
  });

  it('a server without accounts listens only on loopback', async () => {
    const flags = { 'no-auth': 'true', host: '0.0.0.0' };
    await expect(openServer({ flags })).rejects.toThrow('loopback');
  });

  it('a server starts with an unreachable upstream', async () => {
    const config = `
upstreams: { '127.0.0.1:9': { allowPrivate: true } }
layers:
  - name: dead
    source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: any }
`;
    const server = await openServer({ config, expectedLog: /source|upstream/ });
    expect((await get(`${server.url}/healthz`)).status).toBe(200);
    expect((await get(`${server.url}/tiles/dead/0/0/0.png`)).status).toBe(502);
    await server.stop();
  });
});

describe('the command line', () => {
  it('serve and check-config list all errors of a configuration and do not start', async () => {
    const config = writeConfig('server: { prot: 1 }\nlayers:\n  - { name: a, source: { type: wmx } }\n');
    for (const run of [
      runTilewarden(['serve', '--config', config]),
      runCommand(['check-config', '--config', config]),
    ]) {
      const end = await run;
      expect(end.code).toBe(1);
      expect(end.stdout).toBe('');
      expect(end.stderr).toContain('tilewarden.yaml:1:11  server.prot is not a setting; did you mean port?');
      expect(end.stderr).toMatch(/tilewarden\.yaml:3:\d+ {2}layers\[0\]\.source\.type must be one of .*wms/);
    }
  });

  it('check-config prints the effective settings with secrets masked', async () => {
    const config = writeConfig(`
layers:
  - name: a
    source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: any, username: anna, password: { env: WMS_SECRET } }
`);
    const env = { WMS_SECRET: 'hush-hush', TILEWARDEN_PORT: '9123' };
    const end = await runCommand(['check-config', '--config', config], env);
    expect(end.code).toBe(0);
    expect(end.stdout).toContain('port: 9123');
    expect(end.stdout).not.toContain('hush-hush');
  });

  it('the command line suggests a correction for a misspelt command or flag and ends with 2', async () => {
    const command = await runTilewarden(['sevre']);
    expect(command).toMatchObject({ code: 2, stdout: '' });
    expect(command.stderr).toContain('Did you mean serve?');
    const flag = await runCommand(['serve', '--prot', '1']);
    expect(flag.code).toBe(2);
    expect(flag.stderr).toContain('Did you mean --port?');
  });

  it('the command line prints its help and its version', async () => {
    const help = await runCommand(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('check-config');
    expect((await runCommand(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+(-dev)?\n$/);
  });
});
