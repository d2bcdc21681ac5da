import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { basic } from '../fixtures/accounts.ts';
import { eventually, WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { inTurn } from '../fixtures/length.ts';
import { needs, programPath } from '../fixtures/needs.ts';
import { freePort } from '../fixtures/network.ts';
import { openOidcIssuer } from '../fixtures/oidc-issuer.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { CHEAP_PASSWORDS } from '../fixtures/shared-services-host.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { ADMIN_PASSWORD, runTilewarden, startServer } from './server.ts';
import { openServer } from './server-in-process.ts';

const NEW_PASSWORD = 'a sentence I shall remember';

async function who(url: string, authorization: string): Promise<number> {
  return (await fetch(`${url}/api/v1/me`, { headers: { authorization } })).status;
}

describe('a first start', () => {
  it('a first start stores a random password in a file for its owner, until it is changed', async () => {
    const server = await startServer({ env: { TILEWARDEN_ADMIN_PASSWORD: '' } });
    const file = join(server.data, 'initial-admin-password');
    const password = readFileSync(file, 'utf8').trimEnd();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(server.stdout().split('\n')[0]).toBe(
      `First sign-in: user admin; the password is in ${file} until it is changed`,
    );
    expect(server.stdout() + server.stderr()).not.toContain(password);
    expect(await who(server.url, basic('admin', password))).toBe(200);
    const changed = await fetch(`${server.url}/api/v1/me/password`, {
      method: 'PUT',
      headers: { authorization: basic('admin', password), 'content-type': 'application/json' },
      body: JSON.stringify({ current: password, password: NEW_PASSWORD }),
    });
    expect(changed.status).toBe(204);
    expect(existsSync(file)).toBe(false);
    expect(await who(server.url, basic('admin', NEW_PASSWORD))).toBe(200);
    await server.stop();
  });

  it('a first start reads the password from a file, and later starts ignore the file', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, `${NEW_PASSWORD}\n`);
    const env = { TILEWARDEN_ADMIN_PASSWORD: '', TILEWARDEN_ADMIN_PASSWORD_FILE: file };
    const first = await openServer({ env });
    expect(await who(first.url, basic('admin', NEW_PASSWORD))).toBe(200);
    await first.stop();
    const second = await openServer({ data: first.data });
    expect(await who(second.url, basic('admin', NEW_PASSWORD))).toBe(200);
    expect(await who(second.url, basic('admin', ADMIN_PASSWORD))).toBe(401);
    await second.stop();
  });

  it('a first start rejects a well-known password', async () => {
    const end = await runTilewarden(['serve', '--port', '0', '--data', temporaryFolder()], {
      env: { TILEWARDEN_ADMIN_PASSWORD: 'geoserver' },
    });
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toContain('TILEWARDEN_ADMIN_PASSWORD');
  });
});

describe('an administrator who has lost the password', () => {
  function tilewarden(data: string, args: readonly string[], input = '') {
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args, '--data', data], {
      input,
      encoding: 'utf8',
      cwd: data,
      env: { ...process.env, ...CHEAP_PASSWORDS },
    });
    return { status, stdout, stderr };
  }

  it('a lost password is replaced on the command line while the server runs, in private files', async () => {
    const server = await startServer();
    expect(await who(server.url, basic('admin', ADMIN_PASSWORD))).toBe(200);
    for (const name of ['tilewarden.db', 'tilewarden.db-wal']) {
      expect(statSync(join(server.data, name)).mode & 0o007, name).toBe(0);
    }
    const done = tilewarden(server.data, ['user', 'passwd', 'admin'], `${NEW_PASSWORD}\n`);
    expect(done).toMatchObject({ status: 0 });
    expect(await who(server.url, basic('admin', ADMIN_PASSWORD))).toBe(401);
    expect(await who(server.url, basic('admin', NEW_PASSWORD))).toBe(200);
    await server.stop();
  });

  it('users and tokens are managed on the command line while no server runs', async () => {
    const data = temporaryFolder();
    expect(tilewarden(data, ['user', 'add', 'root', '--role', 'admin'], `${NEW_PASSWORD}\n`).status).toBe(0);
    expect(tilewarden(data, ['user', 'add', 'weak', '--role', 'viewer'], 'short\n').status).toBe(1);
    const made = tilewarden(data, ['token', 'create', 'cron', '--role', 'viewer', '--expires', '1d']);
    expect(made.stdout).toMatch(/^tw_[\w-]{43}\n$/);
    const server = await openServer({ data });
    expect(await who(server.url, basic('root', NEW_PASSWORD))).toBe(200);
    expect(await who(server.url, `Bearer ${made.stdout.trimEnd()}`)).toBe(200);
    expect(await who(server.url, server.authorization)).toBe(401);
    expect(tilewarden(data, ['token', 'revoke', '1']).status).toBe(0);
    expect(await who(server.url, `Bearer ${made.stdout.trimEnd()}`)).toBe(401);
    expect(tilewarden(data, ['user', 'list']).stdout).toBe('NAME  ROLE   LAYERS\nroot  admin  *\n');
    const headers = { authorization: basic('root', NEW_PASSWORD) };
    const audit = await (await fetch(`${server.url}/api/v1/audit?text=user add`, { headers })).text();
    expect(audit).toMatch(/"actor": ?"console:\w+"/);
    expect(audit).not.toContain(NEW_PASSWORD);
    await server.stop();
  });
});

describe('a server without accounts', () => {
  it('a server started with --no-auth needs no sign-in and creates no password', async () => {
    const server = await openServer({ flags: { 'no-auth': 'true' } });
    expect((await fetch(`${server.url}/api/v1/tasks`)).status).toBe(200);
    const body = JSON.stringify({ name: 'cron', role: 'admin' });
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${server.url}/api/v1/tokens`, { method: 'POST', headers, body })).status).toBe(201);
    expect(existsSync(join(server.data, 'initial-admin-password'))).toBe(false);
    await server.stop();
  });
});

describe('a server with a certificate', needs('openssl'), () => {
  function makeCertificate(folder: string, name: string): void {
    const args = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=${name}`;
    const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'certificate.pem')];
    expect(spawnSync(programPath('openssl'), [...args.split(' '), ...files]).status).toBe(0);
  }

  function get(url: string): Promise<{ status: number; name: string; hsts: string }> {
    return new Promise((resolve, reject) => {
      const sent = request(url, { rejectUnauthorized: false, agent: false }, (response) => {
        const socket = response.socket as import('node:tls').TLSSocket;
        const { CN: name } = socket.getPeerCertificate().subject;
        response.resume();
        resolve({
          status: response.statusCode ?? 0,
          name: String(name),
          hsts: String(response.headers['strict-transport-security']),
        });
      });
      sent.on('error', reject).end();
    });
  }

  it.each(inTurn([1, 2]))(
    'a server with %i process(es) serves https with HSTS and loads a renewed certificate',
    async (processes) => {
      const folder = temporaryFolder();
      makeCertificate(folder, 'first');
      const tls = `{ certificate: ${join(folder, 'certificate.pem')}, key: ${join(folder, 'key.pem')} }`;
      const server = await startServer({
        config: `server: { tls: ${tls} }\n`,
        args: ['--processes', String(processes)],
        expectedLog: /nothing has changed/,
      });
      expect(server.url).toMatch(/^https:/);
      expect(await get(`${server.url}/healthz`)).toEqual({
        status: 200,
        name: 'first',
        hsts: 'max-age=31536000',
      });
      makeCertificate(folder, 'second');
      process.kill(server.pid, 'SIGHUP');
      await eventually(
        'the new certificate is used',
        async () => (await get(`${server.url}/healthz`)).name === 'second',
      );
      await eventually('every process has it', () => server.stderr().includes(' reloaded'));
      writeFileSync(join(folder, 'key.pem'), 'nonsense');
      process.kill(server.pid, 'SIGHUP');
      await eventually('the refusal is in the log', () => server.stderr().includes('nothing has changed'));
      expect(await get(`${server.url}/healthz`)).toMatchObject({ name: 'second' });
      await server.stop();
    },
  );

  it('a server does not start with an invalid certificate or key', async () => {
    const config = 'server: { tls: { certificate: a.pem, key: b.pem } }';
    await expect(openServer({ config })).rejects.toThrow('server.tls');
  });
});

describe('an account of an issuer, in a browser', needs('chromium'), () => {
  it('an OIDC account has the role and layers of its claims; local accounts work without it', async () => {
    const port = String(await freePort());
    const origin = `http://127.0.0.1:${port}`;
    const claims = () => ({ preferred_username: 'olaf', groups: ['operators'], layers: ['ours'] });
    const issuer = await openOidcIssuer(claims, origin);
    whenOver(() => issuer.close());
    const closed = (name: string) => `{ name: ${name}, access: authenticated, source: { type: world } }`;
    const config = `layers: [${closed('ours')}, ${closed('theirs')}]
access:
  oidc: ${JSON.stringify({ ...issuer.settings, layersClaim: 'layers' })}`;
    await openServer({ config, flags: { port } });
    const context = await (await sharedBrowser()).newContext();
    whenOver(() => context.close());
    context.setDefaultTimeout(WAIT_TIMEOUT_MS);
    const page = await context.newPage();
    const toIssuer = () => page.getByRole('button', { name: 'Sign in with your organisation' }).click();
    const status = async (path: string) =>
      (await context.request.get(origin + path, { maxRedirects: 0 })).status();

    await page.goto(`${origin}/#/tasks`);
    await toIssuer();
    await page.locator('input[name=login]').fill('olaf');
    await page.locator('input[name=password]').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    expect(await page.locator('.who').textContent()).toMatch(/olaf.*operator/i);
    expect([await status('/tiles/ours/0/0/0.png'), await status('/tiles/theirs/0/0/0.png')]).toEqual([
      200, 403,
    ]);
    const me = await (await context.request.get(`${origin}/api/v1/me`)).json();
    expect(me).toMatchObject({ name: 'olaf', role: 'operator', layers: ['ours'], via: 'oidc' });

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.waitForURL(`${origin}/**`);
    expect(await status('/api/v1/me')).toBe(401);
    await page.goto(`${origin}/#/tasks`);
    await toIssuer();
    await page.locator('input[name=login]').waitFor();

    await issuer.close();
    await eventually(
      'the server knows',
      () => status('/login/oidc'),
      (seen) => seen === 503,
    );
    await page.goto(`${origin}/#/tasks`);
    await toIssuer();
    await page.getByText('The sign-in service of your organisation cannot be reached.').waitFor();
    await page.getByLabel('Name').fill('admin');
    await page.getByLabel('Password').fill(ADMIN_PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
  });
});
