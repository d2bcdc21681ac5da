import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { runTilewarden, startServer, temporaryFolder, writeConfig } from './server.ts';

const TILE = '/tiles/world/3/4/2.png';

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  return {
    status: response.status,
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  };
}

describe('a server without a configuration', () => {
  it('makes a tile of the world, and has it the second time', async () => {
    const server = await startServer();
    const first = await get(server.url + TILE);
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toBe('image/png');
    expect(first.headers.get('x-cache')).toBe('MISS');
    expect(first.body.subarray(1, 4).toString()).toBe('PNG');
    const second = await get(server.url + TILE);
    expect(second.headers.get('x-cache')).toBe('HIT');
    expect(second.body.equals(first.body)).toBe(true);
    await server.stop();
  });

  it('still has the tile after a restart', async () => {
    const server = await startServer();
    const before = await get(server.url + TILE);
    await server.stop();
    const again = await startServer({ data: server.data });
    const after = await get(again.url + TILE);
    expect(after.headers.get('x-cache')).toBe('HIT');
    expect(after.body.equals(before.body)).toBe(true);
    await again.stop();
  });

  it('offers the documented grid sets, formats and styles', async () => {
    const { url, stop } = await startServer();
    const offered = ['EPSG:4326/2/3/1.png', '2/1/1.jpeg', '2/1/1.webp', '2/1/1.png?STYLES=dark'];
    for (const tile of offered)
      expect([tile, (await get(`${url}/tiles/world/${tile}`)).status]).toEqual([tile, 200]);
    const styles = ['light', 'dark', 'outline'].map((style) =>
      get(`${url}/tiles/world/2/1/1.png?STYLES=${style}`),
    );
    const pictures = (await Promise.all(styles)).map(({ body }) => body.toString('base64'));
    expect(new Set(pictures).size).toBe(3);
    expect((await get(`${url}/tiles/world/13/0/0.png`)).status).toBe(404);
    await stop();
  });

  it('answers the probes', async () => {
    const { url, stop } = await startServer();
    expect((await get(`${url}/healthz`)).status).toBe(200);
    expect((await get(`${url}/readyz`)).status).toBe(200);
    await stop();
  });
});

describe('starting and stopping', () => {
  it('prints exactly one line when it is ready, and ends with 0 at SIGTERM', async () => {
    const server = await startServer();
    const end = await server.stop();
    expect(end.stdout).toBe(`Tilewarden is ready at ${server.url}/\n`);
    expect(end.code).toBe(0);
  });

  it('finishes an answer under way before it ends, and does not wait for idle connections', async () => {
    const server = await startServer();
    const answer = get(`${server.url}/tiles/world/5/16/10.png`);
    // An answer on a second connection: the request on the first one has arrived by then.
    expect((await get(`${server.url}/healthz`)).status).toBe(200);
    const start = performance.now();
    const [{ status }, end] = await Promise.all([
      answer.finally(() => performance.mark('answered')),
      server.stop(),
    ]);
    const [answered] = performance.getEntriesByName('answered');
    expect(status).toBe(200);
    expect(end.code).toBe(0);
    expect(performance.now() - Math.max(start, answered?.startTime ?? 0)).toBeLessThan(5000);
  });

  it('refuses a data folder in use by another server, which goes on unharmed', async () => {
    const first = await startServer();
    const second = await runTilewarden(['serve', '--port', '0', '--data', first.data]);
    expect(second.code).toBe(1);
    expect(second.stdout).toBe('');
    expect(second.stderr).toContain(`The data folder ${first.data} is in use by another Tilewarden server.`);
    expect((await get(first.url + TILE)).status).toBe(200);
    await first.stop();
  });

  it('starts again after its predecessor was killed', async () => {
    const first = await startServer();
    await get(first.url + TILE);
    await first.kill();
    const second = await startServer({ data: first.data });
    expect((await get(second.url + TILE)).status).toBe(200);
    await second.stop();
  });

  it('says so when the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await eventually('the other program listens', () => other.listening);
    const address = other.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const end = await runTilewarden(['serve', '--port', port, '--data', temporaryFolder()]);
    other.close();
    expect(end.code).toBe(1);
    expect(end.stderr).toContain(
      `Port ${port} on 127.0.0.1 is taken by another program; choose another one with --port.\n`,
    );
  });

  it('refuses to listen without accounts where other machines could reach it', async () => {
    const end = await runTilewarden([
      'serve',
      '--no-auth',
      '--host',
      '0.0.0.0',
      '--port',
      '0',
      '--data',
      temporaryFolder(),
    ]);
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('loopback');
  });

  it('starts although an upstream is dead', async () => {
    const config = `
upstreams: { '127.0.0.1:9': { allowPrivate: true } }
layers:
  - name: dead
    source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: any }
`;
    const server = await startServer({ config, expectedLog: /source|upstream/ });
    expect((await get(`${server.url}/healthz`)).status).toBe(200);
    expect((await get(`${server.url}/tiles/dead/0/0/0.png`)).status).toBe(502);
    await server.stop();
  });
});

describe('the command line', () => {
  it('lists everything that is wrong with a configuration and does not start', async () => {
    const config = writeConfig('server: { prot: 1 }\nlayers:\n  - { name: a, source: { type: wmx } }\n');
    for (const command of ['serve', 'check-config']) {
      const end = await runTilewarden([command, '--config', config]);
      expect(end.code).toBe(1);
      expect(end.stdout).toBe('');
      expect(end.stderr).toContain('tilewarden.yaml:1:11  server.prot is not a setting; did you mean port?');
      expect(end.stderr).toMatch(/tilewarden\.yaml:3:\d+ {2}layers\[0\]\.source\.type must be one of .*wms/);
    }
  });

  it('prints the settings in effect with secrets masked', async () => {
    const config = writeConfig(`
layers:
  - name: a
    source: { type: wms, url: 'http://127.0.0.1:9/wms', layers: any, username: anna, password: { env: WMS_SECRET } }
`);
    const env = { WMS_SECRET: 'hush-hush', TILEWARDEN_PORT: '9123' };
    const end = await runTilewarden(['check-config', '--config', config], { env });
    expect(end.code).toBe(0);
    expect(end.stdout).toContain('port: 9123');
    expect(end.stdout).not.toContain('hush-hush');
  });

  it('suggests what was meant and ends with 2', async () => {
    const command = await runTilewarden(['sevre']);
    expect(command).toMatchObject({ code: 2, stdout: '' });
    expect(command.stderr).toContain('Did you mean serve?');
    const flag = await runTilewarden(['serve', '--prot', '1']);
    expect(flag.code).toBe(2);
    expect(flag.stderr).toContain('Did you mean --port?');
  });

  it('helps and says its version', async () => {
    const help = await runTilewarden(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('check-config');
    expect((await runTilewarden(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
