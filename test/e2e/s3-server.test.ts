import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type FaultProxy, openFaultProxy } from '../fixtures/fault-proxy.ts';
import { requireS3 } from '../fixtures/s3.ts';
import { createPostgresDatabase, sharedS3 } from '../fixtures/shared-services.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { type RunningServer, runTilewarden, startServer, writeConfig } from './server.ts';

/** On Node.js 20 the SDK warns of its own future. */
const env = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' };

async function settingsOf({ cache = '', bucket = '', endpoint = '' } = {}): Promise<string> {
  const s3 = await sharedS3();
  return `
database: ${await createPostgresDatabase()}
stores:
  default:
    type: s3
    bucket: ${bucket || s3.bucket}
    endpoint: ${endpoint || s3.endpoint}
    pathStyle: true
    prefix: e2e-${Math.random().toString(36).slice(2)}/
    accessKeyId: ${s3.accessKeyId}
    secretAccessKey: ${s3.secretAccessKey}
    ${cache}
`;
}

async function tile(server: RunningServer, place: string): Promise<string> {
  const answer = await fetch(`${server.url}/tiles/world/${place}.png`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.status).toBe(200);
  expect(bytes.subarray(1, 4).toString()).toBe('PNG');
  return answer.headers.get('x-cache') ?? '';
}

describe.runIf(requireS3('a server whose tiles lie in S3'))('a server whose tiles lie in S3', () => {
  let proxy: FaultProxy;
  beforeAll(async () => {
    proxy = await openFaultProxy((await sharedS3()).endpoint);
    return () => proxy.close();
  });

  it('has them after a restart, with the tiles of the same metatile beside them', async () => {
    const config = await settingsOf();
    const first = await startServer({ config, env });
    expect(await tile(first, '6/20/20')).toBe('MISS');
    await eventually(
      'the metatile is stored',
      () => usage(first),
      (tiles) => tiles === 16,
    );
    await first.stop();
    const second = await startServer({ config, env });
    expect(await tile(second, '6/20/20')).toBe('HIT');
    expect(await tile(second, '6/21/21')).toBe('HIT');
    const metrics = await admin(second, '/metrics');
    expect(metrics).toContain('tilewarden_store_requests_total{store="default",operation="get"} 1');
    await admin(second, '/masstruncate', '<truncateLayer><layerName>world</layerName></truncateLayer>');
    expect(await usage(second)).toBe(0);
    expect(await tile(second, '6/20/20')).toBe('MISS');
    await second.stop();
  });

  it.each(['fail', 'refuse', 'hang'] as const)(
    'goes on from memory and from the source while S3 is away (%s), and stores again when it is back',
    async (mode) => {
      proxy.mode = 'pass';
      const config = await settingsOf({ endpoint: proxy.url, cache: 'timeoutSeconds: 0.5' });
      const expectedLog = /could not be (stored|read|removed)|the object store (fails|cannot be reached)/;
      const server = await startServer({ config, env, expectedLog });
      whenOver(() => {
        proxy.mode = 'pass';
      });
      expect(await tile(server, '6/20/20')).toBe('MISS');
      await eventually(
        'the metatile is stored',
        () => usage(server),
        (tiles) => tiles === 16,
      );
      proxy.mode = mode;
      expect(await tile(server, '6/20/20')).toBe('HIT');
      for (let x = 0; x < 6; x++) expect(await tile(server, `6/${x * 4}/40`)).toMatch(/MISS|BYPASS/);
      await eventually(
        'tiles are answered past the store',
        () => tile(server, '6/40/44'),
        (outcome) => outcome !== 'MISS',
      );
      expect(await usage(server)).toBe(16);
      proxy.mode = 'pass';
      let next = 0;
      await eventually(
        'tiles are stored again',
        async () => {
          await tile(server, `7/${4 * next++}/8`);
          return usage(server);
        },
        (tiles) => tiles > 16,
      );
      await server.stop();
    },
  );

  it('answers from the cache on its disk while S3 is away, and never what has been replaced', async () => {
    proxy.mode = 'pass';
    const config = await settingsOf({ endpoint: proxy.url, cache: 'cache: { size: 50 MiB }' });
    const expectedLog = /could not be (stored|read|removed)|the object store (fails|cannot be reached)/;
    const first = await startServer({ config, env, expectedLog });
    await tile(first, '6/20/20');
    await eventually(
      'the metatile is stored',
      () => usage(first),
      (tiles) => tiles === 16,
    );
    const { data } = first;
    await first.stop();
    const second = await startServer({ config, data, env, expectedLog });
    expect(await tile(second, '6/20/20')).toBe('HIT');
    await second.stop();
    const third = await startServer({ config, data, env, expectedLog });
    proxy.mode = 'fail';
    whenOver(() => {
      proxy.mode = 'pass';
    });
    expect(await tile(third, '6/20/20')).toBe('HIT');
    expect(await tile(third, '6/22/22')).toBe('HIT');
    await third.stop();
    proxy.mode = 'pass';
  });

  it('takes over the tiles of bundles while it serves, and gives them back', async () => {
    const settings = await settingsOf();
    const stores = settings.replace('stores:\n  default:', 'stores:\n  local: { type: bundle }\n  default:');
    const layers = (store: string) => `${stores}
layers:
  - { name: world, source: { type: world }, gridSets: [EPSG:900913], store: ${store} }
`;
    const before = await startServer({ config: layers('local'), env });
    for (const place of ['6/20/20', '6/40/20', '3/1/1']) expect(await tile(before, place)).toBe('MISS');
    await eventually(
      'the tiles are stored',
      () => usage(before),
      (tiles) => tiles === 48,
    );
    const { data } = before;
    const flags = ['--data', data, '--config', writeConfig(layers('default'))];
    const copied = await runTilewarden(['migrate-store', 'local', 'default', ...flags], { env });
    expect(copied.stdout).toMatch(/^Copied 48 tiles from local to default \(.*\)\.\n$/);
    const again = await runTilewarden(['migrate-store', 'local', 'default', ...flags], { env });
    expect(again.stdout).toContain('48 of them were there already');
    await before.stop();
    const after = await startServer({ config: layers('default'), data, env });
    for (const place of ['6/20/20', '6/41/21', '3/1/1']) expect(await tile(after, place)).toBe('HIT');
    await after.stop();
    const back = await runTilewarden(['migrate-store', 'default', 'local', ...flags], { env });
    expect(back.stdout).toContain('48 of them were there already');
    const unknown = await runTilewarden(['migrate-store', 'default', 'nowhere', ...flags], { env });
    expect(unknown.stderr).toContain('There is no store nowhere; there are local, default.');
    expect(unknown.code).not.toBe(0);
  });

  it('says at the start that the bucket is missing', async () => {
    const config = writeConfig(await settingsOf({ bucket: 'no-such-bucket' }));
    const { code, stderr } = await runTilewarden(['serve', '--port', '0', '--config', config], { env });
    expect(code).not.toBe(0);
    expect(stderr).toContain('The bucket no-such-bucket of a tile store does not exist');
  });
});

async function usage(server: RunningServer): Promise<number> {
  return (JSON.parse(await admin(server, '/api/v1/usage')) as { readonly tiles: number }).tiles;
}

async function admin({ url, authorization }: RunningServer, path: string, body?: string): Promise<string> {
  const headers = { authorization, ...(body !== undefined && { 'content-type': 'text/xml' }) };
  const answer = await fetch(
    `${url}${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body },
  );
  expect(answer.status).toBe(200);
  return answer.text();
}
