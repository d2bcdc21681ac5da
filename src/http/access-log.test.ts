import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LogEntry, openAccountApp, recordingLogger } from '../../test/fixtures/http-app.ts';
import { temporaryFolder } from '../../test/fixtures/when-over.ts';
import { systemClock } from '../lib/clock.ts';
import { openAccessLog, withoutSecrets } from './access-log.ts';

async function open(format: 'combined' | 'json', name = 'access.log') {
  const file = join(temporaryFolder(), name);
  const entries: LogEntry[] = [];
  const accessLog = openAccessLog(file, format, { clock: systemClock, log: recordingLogger(entries) });
  const options = { trustedProxies: ['192.0.2.1'] };
  const opened = await openAccountApp({ deps: { accessLog }, options });
  return {
    ...opened,
    file,
    entries,
    accessLog,
    lines: () => readFileSync(file, 'utf8').split('\n').slice(0, -1),
  };
}

describe('the access log', () => {
  it('a JSON line of the access log has the address behind trusted proxies, user, outcome and no secret', async () => {
    const { app, get, accessLog, lines } = await open('json');
    await app.inject({
      method: 'GET',
      url: '/tiles/world/0/0/0.png?Key=secret1&a=b',
      headers: {
        host: 'localhost',
        'x-forwarded-for': '203.0.113.9',
        referer: 'https://u:p@a.example/?code=secret2&x=1',
      },
      remoteAddress: '192.0.2.1',
    });
    await get('/tiles/world/0/0/0.png', { 'user-agent': 'a "map"\u0001' });
    await get('/api/v1/me');
    await accessLog.close();
    const [refused, tile, me] = lines().map((line) => JSON.parse(line));
    expect(lines().join('')).not.toMatch(/secret|u:p/);
    expect(refused).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      address: '203.0.113.9',
      user: null,
      via: null,
      method: 'GET',
      path: '/tiles/world/0/0/0.png?Key=***&a=b',
      status: 401,
      bytes: expect.any(Number),
      ms: expect.any(Number),
      cache: null,
      referer: 'https://a.example/?code=***&x=1',
      userAgent: 'lightMyRequest',
    });
    expect(tile).toMatchObject({ status: 200, cache: 'HIT', bytes: 44, userAgent: 'a "map"\u0001' });
    expect(me).toMatchObject({ status: 200, user: 'anna', via: 'basic', path: '/api/v1/me' });
  });

  it('a combined line of the access log is one line whatever a caller sends', async () => {
    const { get, accessLog, lines } = await open('combined');
    await get('/tiles/world/0/0/0.png', { 'user-agent': 'x" 200 1\r\n10.0.0.1 - - \u2028' });
    await accessLog.close();
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatch(
      /^127\.0\.0\.1 - - \[\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET \/tiles\/world\/0\/0\/0\.png HTTP\/1\.1" 200 44 "-" "x\\x22 200 1\\x0d\\x0a10\.0\.0\.1 - - \\xe2\\x80\\xa8"$/,
    );
  });

  it('an access log that was moved away is opened again', async () => {
    const { get, accessLog, file, lines } = await open('combined');
    await get('/healthz');
    await accessLog.flush();
    renameSync(file, `${file}.1`);
    await get('/readyz');
    await accessLog.close();
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain('/readyz');
    expect(readFileSync(`${file}.1`, 'utf8')).toContain('/healthz');
  });

  it('an access log that cannot be written is reported once, and requests are answered', async () => {
    const { get, accessLog, entries } = await open('json', 'missing-folder/access.log');
    for (let i = 0; i < 3; i++) {
      expect((await get('/healthz')).status).toBe(200);
      await accessLog.flush();
    }
    expect(entries.map(({ level }) => level)).toEqual(['error']);
  });

  it.each([
    ['/a?b=c', '/a?b=c'],
    [
      '/a?KEY=x&authkey=y&access_token=z&code=1&state=2&keys=3',
      '/a?KEY=***&authkey=***&access_token=***&code=***&state=***&keys=3',
    ],
    ['/a?k%65y=x', '/a?k%65y=***'],
    ['/api/v1/preview/map?document=%7B%22url%22%3A1%7D&zoom=2', '/api/v1/preview/map?document=***&zoom=2'],
    ['/a?b#access_token=x', '/a?b#access_token=***'],
    ['/a?key=x=y', '/a?key=***'],
    ['/login?return=%2Fb%3Fa%3D1%26key%3Dx', '/login?return=%2Fb%3Fa%3D1%26key%3D***'],
    ['/login?return=/b%3FKEY%3Dx&a=1', '/login?return=%2Fb%3FKEY%3D***&a=1'],
  ])('the address %s is logged as %s', (address, logged) => {
    expect(withoutSecrets(address)).toBe(logged);
  });
});
